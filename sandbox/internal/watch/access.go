package watch

// Kind is the kind of an access to a file or an address.
type Kind uint8

const (
	Look    Kind = iota // check that a file exists, and its attributes
	Read                // read the contents of a file or folder
	Write               // change the contents or attributes of a file
	Change              // create, rename or remove a file or folder, which changes the folder above
	Run                 // start a program
	Connect             // connect to an address
	Listen              // listen at an address
)

func (k Kind) String() string {
	return [...]string{"look", "read", "write", "change", "run", "connect", "listen"}[k]
}

// A Scope selects the watched calls. Other calls cost nothing.
type Scope uint8

const (
	// Connections selects calls that connect.
	Connections Scope = iota
	// Opens also selects all calls that open, run, change or remove a file.
	Opens
	// Looks also selects the much more frequent checks whether a file exists.
	Looks
)

// An Access is one attempted access of a program.
type Access struct {
	Kind Kind
	// Path is absolute and has no "..". Links in it are not followed. Unix sockets of Connect and
	// Listen have a path, too.
	Path string
	// Address is an IP address with its port, for Connect and Listen. It is empty if Path is not.
	Address string
}

// Options configure a Watcher.
type Options struct {
	// See receives each access once, and again only if more than Remembered differ. The call waits
	// until See returns, so that the program's files are unchanged; only a process that is killed
	// does not wait.
	See func(Access)
	// Skip reports quickly that an access need not be reported; nil reports all.
	Skip func(Access) bool
	// PerSecond is the number of calls examined in each second; further ones continue unexamined,
	// and are counted by Missed. 0 means maxPerSecond.
	PerSecond int
	// Remembered is the number of remembered accesses; 0 means maxRemembered.
	Remembered int
}

const (
	// maxPerSecond exceeds the calls of a program that reads the tree of a repository. It bounds
	// the share of a core that a loop can use.
	maxPerSecond = 20_000
	// maxRemembered times 8 bytes is the memory of a Watcher.
	maxRemembered = 16_384
	// maxPath is PATH_MAX of Linux, the limit of the kernel.
	maxPath = 4096
)
