// Package host is the loop between a user, a language model and the servers
// that the user allows: a question goes to the model together with the tools of all
// servers, the model asks for calls, the host asks the user where it must,
// runs them, gives the results back, and repeats until there is an answer.
//
// A Host holds the connections and what they offer; a Conversation holds what
// was said, what was kept of it and what it cost. Everything that happens is reported
// as an [Event]; everything that a user must decide is asked through
// [Person]. Neither needs a terminal, so a program can embed the loop.
package host

// The files have one order, in which each uses only those before it: event.go, record.go, person.go
// and options.go (values), server.go, approved.go, offer.go, catalogue.go, conversation.go, review.go,
// request.go, server_requests.go, consent.go, reading.go, tasks.go, run.go, host.go, own.go. Code that
// needs nothing of the package is in host/internal.
