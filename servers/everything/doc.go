// Package everything is a server with one of each: every kind of tool, content, resource, prompt
// and question of the protocol. It is for trying out and testing clients. Nothing in it is useful,
// and nothing in it touches the machine it runs on.
//
// The server is deterministic: its lists and results depend only on the requests.
package everything
