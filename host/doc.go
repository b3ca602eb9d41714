// Package host is the loop between a user, a language model and the servers
// they allow: a question goes to the model together with the tools of all
// servers, the model asks for calls, the host asks the user where it must,
// runs them, gives the results back, and repeats until there is an answer.
//
// A Host holds the connections and what they offer; a Conversation holds what
// was said, what was kept of it and what it cost. Everything that happens is reported
// as an [Event]; everything that must be decided by a user is asked through
// [Person]. Neither needs a terminal, so a program can embed the loop.
package host
