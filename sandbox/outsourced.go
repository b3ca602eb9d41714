package sandbox

// outsourced is a program that another one is to start and confine: sandbox-exec of macOS, or a container engine.
type outsourced struct {
	argv      []string // the program is absolute but in a container
	dir       string   // working folder
	links     []string // that lead to what it reads and writes
	temp      string   // a folder of its own, which exists
	proxy     string   // 127.0.0.1:PORT, through which hosts are reached; empty where none may be
	variables string   // the file with those of a container; empty where it has none
	profile   Profile  // whose Read has the folders of the program, too
}
