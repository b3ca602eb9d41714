// Package watch sees which files and addresses a program uses, and all that it
// starts, by the Linux kernel's seccomp user notification: a call that names a
// file or an address waits until the Watcher has read its arguments from the
// memory of the process, and then goes on as if nobody had looked.
//
// It enforces nothing. A process may change its memory between the look and the
// call, may reach files in ways that name none, and the order of what two threads
// do is not known; what a program may do is decided by the namespaces, Landlock and
// filters of package sandbox. So a hostile program can hide what it does from the
// log, and gains nothing by it.
//
// Calls that name nothing, such as read, write and recv, are not slowed: the
// kernel knows from the filter that they are always allowed, and does not run it.
package watch
