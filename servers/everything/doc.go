// Package everything is a server with one of each: every kind of tool, content, resource, prompt
// and question of the protocol. It is meant for trying out and testing clients. None of its
// features is useful, and none accesses the machine on which it runs.
//
// The server is deterministic: its lists and results depend only on the requests.
package everything
