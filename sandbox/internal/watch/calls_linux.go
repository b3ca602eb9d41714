//go:build amd64 || arm64

package watch

import "golang.org/x/sys/unix"

// A call describes the arguments of a system call that name files.
type call struct {
	names [2]name
	// open locates the flags of an open, which determine its kind.
	open openFlags
	// flags is the argument with AT_EMPTY_PATH, which refers to an open file; 0 if there is none.
	flags int
	// address marks a call with a socket's address in arguments 1 and 2.
	address bool
}

// A name locates a path.
type name struct {
	used bool
	kind Kind
	dir  int // argument with the folder that the path is relative to; -1 means the current one
	path int // argument
}

// openFlags locates the flags of an open.
type openFlags uint8

const (
	noOpen    openFlags = iota
	inSecond            // argument 1
	inThird             // argument 2
	inTheHow            // in the struct open_how that argument 2 points to
	isCreated           // always O_CREAT|O_WRONLY|O_TRUNC
)

// at returns the name of a path in argument path, relative to the folder in the argument before it.
func at(kind Kind, path int) name { return name{used: true, kind: kind, dir: path - 1, path: path} }

// here returns the name of a path in an argument, relative to the current folder.
func here(kind Kind, path int) name { return name{used: true, kind: kind, dir: -1, path: path} }

func one(n name) call { return call{names: [2]name{n}} }

func two(a, b name) call { return call{names: [2]name{a, b}} }

// common returns the calls of every architecture.
func common() map[int]call {
	return map[int]call{
		unix.SYS_OPENAT:     {names: [2]name{at(Read, 1)}, open: inThird},
		unix.SYS_OPENAT2:    {names: [2]name{at(Read, 1)}, open: inTheHow},
		unix.SYS_STATX:      {names: [2]name{at(Look, 1)}, flags: 2},
		fstatat:             {names: [2]name{at(Look, 1)}, flags: 3},
		unix.SYS_FACCESSAT:  one(at(Look, 1)),
		unix.SYS_FACCESSAT2: {names: [2]name{at(Look, 1)}, flags: 3},
		unix.SYS_READLINKAT: one(at(Look, 1)),
		unix.SYS_CHDIR:      one(here(Look, 0)),
		unix.SYS_EXECVE:     one(here(Run, 0)),
		unix.SYS_EXECVEAT:   {names: [2]name{at(Run, 1)}, flags: 4},
		unix.SYS_UNLINKAT:   one(at(Change, 1)),
		unix.SYS_MKDIRAT:    one(at(Change, 1)),
		unix.SYS_MKNODAT:    one(at(Change, 1)),
		unix.SYS_SYMLINKAT:  one(at(Change, 2)),
		unix.SYS_LINKAT:     {names: [2]name{at(Read, 1), at(Change, 3)}, flags: 4},
		unix.SYS_RENAMEAT:   two(at(Change, 1), at(Change, 3)),
		unix.SYS_RENAMEAT2:  two(at(Change, 1), at(Change, 3)),
		unix.SYS_TRUNCATE:   one(here(Write, 0)),
		unix.SYS_FCHMODAT:   one(at(Write, 1)),
		unix.SYS_FCHMODAT2:  {names: [2]name{at(Write, 1)}, flags: 3},
		unix.SYS_FCHOWNAT:   {names: [2]name{at(Write, 1)}, flags: 4},
		unix.SYS_UTIMENSAT:  {names: [2]name{at(Write, 1)}, flags: 3},
		unix.SYS_CONNECT:    {names: [2]name{{used: true, kind: Connect}}, address: true},
		unix.SYS_BIND:       {names: [2]name{{used: true, kind: Listen}}, address: true},
	}
}
