// Package watch reports the files and addresses that a program and its children use. It uses the
// Linux kernel's seccomp user notification. A call that names a file or an address waits until the
// Watcher has read the call's arguments from the memory of the process. Then it continues
// unchanged.
//
// The package enforces nothing. A process can change its memory after the Watcher has read it, and
// can reach files without naming them. The order of calls from two threads is unknown. Package
// sandbox enforces permissions with namespaces, Landlock and filters. So a hostile program can hide
// accesses from the log, but gains nothing by that.
//
// Calls without names, such as read, write and recv, are not slowed down. The kernel knows from the
// filter that they are always allowed, and does not run the filter for them.
package watch
