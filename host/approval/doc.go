// Package approval puts into words what a user is asked to approve, so that whoever
// shows it says the same: what a server claims about a tool, and what a server brings, in
// one line.
//
// Texts hold what servers wrote; whoever shows them cleans them.
package approval
