// Package everything is a server with one of each: every kind of tool, content,
// resource, prompt and question that the protocol has. It is for trying out
// clients and for testing them; nothing in it is useful, and nothing in it
// touches the machine it runs on.
//
// The server is deterministic: what it lists and answers depends on nothing but
// the requests it got.
package everything
