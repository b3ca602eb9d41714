// Package watch reports the files and addresses that a program and its children use, by the Linux
// kernel's seccomp user notification. A call that names a file or an address waits until the
// Watcher has read its arguments from the memory of the process. Then it continues unchanged.
//
// The package enforces nothing. A process may change its memory after the Watcher has read it, and
// may reach files without naming them. The order of calls of two threads is unknown. Namespaces,
// Landlock and filters of package sandbox enforce the permissions. So a hostile program can hide
// accesses from the log, but gains nothing by it.
//
// Calls without names, such as read, write and recv, are not slowed: the kernel knows from the
// filter that they are always allowed, and does not run it.
package watch
