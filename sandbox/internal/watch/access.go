package watch

// Kind is what a program wants of a file or an address.
type Kind uint8

const (
	Look    Kind = iota // whether a file is there, and what it is
	Read                // the contents of a file or folder
	Write               // to change what a file holds or is
	Change              // to make, rename or remove a file or folder, which changes the folder that it is in
	Run                 // to start a program
	Connect             // to reach an address
	Listen              // to be reached at an address
)

func (k Kind) String() string {
	return [...]string{"look", "read", "write", "change", "run", "connect", "listen"}[k]
}

// A Scope says which calls are watched. What is not costs nothing.
type Scope uint8

const (
	// Connections are calls that connect.
	Connections Scope = iota
	// Opens are those, and all that open, run, change or remove a file.
	Opens
	// Looks are those, and what a program does far more often: to look whether a file is there.
	Looks
)

// Access is one thing that a program tried.
type Access struct {
	Kind Kind
	// Path is absolute and has no "..". Links in it are not followed. A Unix socket that is connected to or listened at has one, too.
	Path string
	// Address is an IP address with its port, of Connect and Listen. It is empty where Path is not.
	Address string
}

// Options are those of a Watcher.
type Options struct {
	// See gets each access once, and more often only where more than Remembered differ. The call waits until See returns, so
	// what the program sees is still there; only a process that is killed does not wait.
	See func(Access)
	// Skip says quickly that an access is not to be reported; nil reports all.
	Skip func(Access) bool
	// PerSecond is how many calls are looked at in each second; others go on unseen, and are counted in Missed. 0 is maxPerSecond.
	PerSecond int
	// Remembered is how many accesses are known not to be new; 0 is maxRemembered.
	Remembered int
}

const (
	// maxPerSecond is more than a program needs that reads the tree of a repository; a loop gets no more of a core than this.
	maxPerSecond = 20_000
	// maxRemembered times 8 bytes is what a Watcher keeps.
	maxRemembered = 16_384
	// maxPath is PATH_MAX of Linux: the kernel takes no longer one.
	maxPath = 4096
)
