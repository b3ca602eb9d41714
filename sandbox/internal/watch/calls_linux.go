//go:build amd64 || arm64

package watch

import "golang.org/x/sys/unix"

// A call describes which arguments of a system call name files or an address.
type call struct {
	names [2]name
	// open locates the flags of an opening call, which determine the kind of access.
	open openFlags
	// flags is the index of the argument in which AT_EMPTY_PATH means an open file; 0 if there is
	// none.
	flags int
	// address marks a call with the address of a socket in arguments 1 and 2.
	address bool
}

// A name locates a path in a call's arguments.
type name struct {
	used bool
	kind Kind
	dir  int // index of the argument with the folder for a relative path; -1 means the current folder
	path int // index of the argument with the path
}

// openFlags locates the flags of an opening call.
type openFlags uint8

const (
	noOpen    openFlags = iota
	inSecond            // in argument 1
	inThird             // in argument 2
	inTheHow            // in the struct open_how to which argument 2 points
	isCreated           // none: the call always means O_CREAT|O_WRONLY|O_TRUNC
)

// at returns the name for a path in an argument, relative to the folder in the argument before it.
func at(kind Kind, path int) name { return name{used: true, kind: kind, dir: path - 1, path: path} }

// inCurrentFolder returns the name for a path in an argument, relative to the current folder.
func inCurrentFolder(kind Kind, path int) name {
	return name{used: true, kind: kind, dir: -1, path: path}
}

func one(n name) call { return call{names: [2]name{n}} }

func two(a, b name) call { return call{names: [2]name{a, b}} }

// common returns the calls that every architecture has.
func common() map[int]call {
	return map[int]call{
		unix.SYS_OPENAT:     {names: [2]name{at(Read, 1)}, open: inThird},
		unix.SYS_OPENAT2:    {names: [2]name{at(Read, 1)}, open: inTheHow},
		unix.SYS_STATX:      {names: [2]name{at(Look, 1)}, flags: 2},
		fstatat:             {names: [2]name{at(Look, 1)}, flags: 3},
		unix.SYS_FACCESSAT:  one(at(Look, 1)),
		unix.SYS_FACCESSAT2: {names: [2]name{at(Look, 1)}, flags: 3},
		unix.SYS_READLINKAT: one(at(Look, 1)),
		unix.SYS_CHDIR:      one(inCurrentFolder(Look, 0)),
		unix.SYS_EXECVE:     one(inCurrentFolder(Run, 0)),
		unix.SYS_EXECVEAT:   {names: [2]name{at(Run, 1)}, flags: 4},
		unix.SYS_UNLINKAT:   one(at(Change, 1)),
		unix.SYS_MKDIRAT:    one(at(Change, 1)),
		unix.SYS_MKNODAT:    one(at(Change, 1)),
		unix.SYS_SYMLINKAT:  one(at(Change, 2)),
		unix.SYS_LINKAT:     {names: [2]name{at(Read, 1), at(Change, 3)}, flags: 4},
		unix.SYS_RENAMEAT:   two(at(Change, 1), at(Change, 3)),
		unix.SYS_RENAMEAT2:  two(at(Change, 1), at(Change, 3)),
		unix.SYS_TRUNCATE:   one(inCurrentFolder(Write, 0)),
		unix.SYS_FCHMODAT:   one(at(Write, 1)),
		unix.SYS_FCHMODAT2:  {names: [2]name{at(Write, 1)}, flags: 3},
		unix.SYS_FCHOWNAT:   {names: [2]name{at(Write, 1)}, flags: 4},
		unix.SYS_UTIMENSAT:  {names: [2]name{at(Write, 1)}, flags: 3},
		unix.SYS_CONNECT:    {names: [2]name{{used: true, kind: Connect}}, address: true},
		unix.SYS_BIND:       {names: [2]name{{used: true, kind: Listen}}, address: true},
	}
}
