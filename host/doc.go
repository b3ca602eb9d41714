// Package host runs the loop between a user, a language model and the servers that the user allows.
// A question goes to the model with the tools of all servers, and the model requests calls. The
// host asks the user if necessary, runs the calls and returns the results, and repeats this until
// there is an answer.
//
// A Host holds the connections to the servers and their features. A Conversation holds messages,
// stored results and totals. The host reports everything that happens as an [Event], and asks the
// user through [Person]. Neither needs a terminal, so programs can embed the loop.
package host

// Files are ordered, and each uses only declarations of those before it: event.go, record.go,
// person.go and options.go (values), server.go, approved.go, offer.go, catalogue.go,
// conversation.go, review.go, request.go, server_requests.go, consent.go, reading.go, tasks.go,
// run.go, host.go, own.go. Code that needs no declarations of the package is in host/internal.
