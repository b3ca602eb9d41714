package watch

// Kind is the kind of an access to a file or an address.
type Kind uint8

const (
	Look    Kind = iota // check whether a file exists, or read its attributes
	Read                // read the contents of a file or folder
	Write               // change the contents or attributes of a file
	Change              // create, rename or remove a file or folder, which changes the folder that contains it
	Run                 // start a program
	Connect             // connect to an address
	Listen              // listen on an address
)

func (k Kind) String() string {
	return [...]string{"look", "read", "write", "change", "run", "connect", "listen"}[k]
}

// A Scope selects the calls to watch. Other calls are not slowed down.
type Scope uint8

const (
	// Connections selects connecting calls.
	Connections Scope = iota
	// Opens also selects all calls that open, run, change or remove a file.
	Opens
	// Looks also selects checks for existing files, which are much more frequent.
	Looks
)

// An Access is an access that a program attempts.
type Access struct {
	Kind Kind
	// Path is an absolute path without "..". Links in it are not resolved. For Connect and Listen
	// it is the path of a Unix socket.
	Path string
	// Address is an IP address with a port, for Connect and Listen. It is empty if Path is set.
	Address string
}

// Options configures a Watcher.
type Options struct {
	// See is called with each different access, once. An access may be repeated after more than
	// Remembered others. The program's call waits until See returns, so that its files are
	// unchanged meanwhile. Only a killed process does not wait.
	See func(Access)
	// Skip is a quick check whether an access need not be reported; nil reports all.
	Skip func(Access) bool
	// PerSecond is the maximum number of calls examined in a second. Others continue without
	// examination, and Missed counts them. 0 means maxPerSecond.
	PerSecond int
	// Remembered is the number of accesses that are remembered as reported; 0 means maxRemembered.
	Remembered int
}

const (
	// maxPerSecond is more than the calls of a program that reads the tree of a repository. It
	// limits the CPU time that a loop in a program can cause.
	maxPerSecond = 20_000
	// maxRemembered is the number of hashes in a Watcher, of 8 bytes each.
	maxRemembered = 16_384
	// maxPath is the kernel's limit, PATH_MAX.
	maxPath = 4096
)
