// Package tui is the terminal interface of a host: a user types, reads the
// answer while it is written, sees every call of a tool, and decides what must be
// decided by a user.
//
// A [UI] is made first, because it is the host's [host.Person] and hears its
// events; then the host; then [UI.Run] with a [Session], which is what the screen
// needs of host and conversation ([Attach] makes one).
//
// What was said stays in the terminal's own scrollback; only what is still moving
// (the end of an answer, running calls, the question that waits, the input and
// the status line) is redrawn below it. It works from 40 columns on, without
// colours, and on a terminal that can do nothing (TERM=dumb) line by line.
//
// Nothing that a server or a model wrote reaches the terminal uncleaned: texts
// become lines of package ink, which cleans them when it paints.
package tui
