// Package pollable lets the Go runtime's poller wait for descriptors that a
// process was started with.
//
// Standard input and output arrive as blocking descriptors. A Read of such a
// file holds an operating system thread, and a processor until the scheduler's
// monitor takes it away, for every message that is waited for. Pipes and sockets
// that are switched to non-blocking mode are waited for by the poller instead:
// that is cheaper, and deadlines and Close then end a Read that waits.
//
// Non-blocking mode belongs to the open file description, which every process
// shares that inherited the descriptor. Terminals are left alone for that
// reason: the shell reads from the same one. For pipes and sockets, [Restore]
// gives back what [File] changed.
package pollable
