package sandbox

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// ErrUnconfined reports that this system cannot enforce the profile, and that [Options].Weaker does
// not permit weaker confinement.
var ErrUnconfined = errors.New("cannot be confined as its profile says")

const (
	defaultProcesses = 512       // processes and threads together
	defaultMemory    = 4 << 30   // bytes
	defaultFiles     = 4096      // open files of each process
	maxFile          = 8 << 30   // bytes of each file that the program writes
	maxTemporary     = 256 << 20 // bytes of the temporary folder, and of the replacement of the home folder
	maxShared        = 64 << 20  // bytes of /dev/shm
	maxConnections   = 128       // concurrent connections of one server
	maxNames         = 1024      // host names that one server resolves
	maxRefusals      = 1000      // distinct refusals reported for one server
	maxOrder         = 8 << 20   // bytes of an order; arguments and environment have up to 2 MiB

	launchTime = 20 * time.Second // maximum time for the launcher to start the program
)

// launcherName is the name of the process that confines itself and then starts the program.
const launcherName = "junction-sandbox"

// launcherEnv is the complete environment of a launcher. Without the variable, a build with the
// race detector would end a second after its program.
const launcherEnv = "GORACE=atexit_sleep_ms=0"

// Options configures a [Sandbox].
type Options struct {
	// Package lists the program's own folders, which a package manager installed. The program may
	// read them.
	Package []string
	// Folder lets the program read its working directory even if the profile does not contain it,
	// because a configuration's entry sets the directory. Without Folder, a working directory
	// outside the profile is replaced by another.
	Folder bool
	// Record, if not nil, records the accesses of the program. Regardless of its profile, the
	// program may then read and write files of the machine, except places of keys, and reach public
	// hosts.
	Record *Record
	// Learned describes the start of a recorded program. In temporary folders the program sees the
	// paths named there, and otherwise its own folders.
	Learned Learned
	// Refused, if not nil, is called once for each distinct refusal that becomes known. It must
	// return.
	Refused func(Refusal)
	// Unwatched disables notifications by the Linux kernel when the program opens, creates, changes
	// or runs a file, which take 20 to 60 µs each. Refused is then not called for these accesses,
	// except for losses in the temporary home folder and for findings of [Sandbox.Failed]. It is
	// meant for a program that ran before with the same profile and without refusals.
	Unwatched bool
	// Weaker permits a start with weaker confinement than the profile demands if the system does
	// not support it. Unconfined, if not nil, is then called with the missing parts.
	Weaker     bool
	Unconfined func(missing []string)
}

// A Refusal is an access that a confined program attempted without permission.
type Refusal struct {
	What   string   // such as "read /home/ann/notes" or "connect to example.com:443"
	Reason string   // such as "it is not among the hosts of its profile"
	Allow  []string // flags of junction server sandbox allow that would permit it, such as --host example.com; empty if none would
	Lost   bool     // the access succeeded, but the data is lost when the program ends
}

// String returns the refusal as text for users.
func (r Refusal) String() string {
	return "was refused to " + r.What + ": " + r.Reason
}

// A Sandbox starts confined programs, any number of them, also concurrently.
type Sandbox struct {
	profile Profile
	o       Options

	mu      sync.Mutex
	running map[*mentions]struct{}
}

// New returns the Sandbox of a profile. The error names invalid parts of the profile.
func New(p Profile, o Options) (*Sandbox, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	return &Sandbox{profile: p, o: o}, nil
}

// Failed searches texts of a failed request, its arguments and its error, for paths. It reports to
// Refused those files that a running program of the Sandbox does not see or must not write. This is
// needed because a program that only checks for a hidden file gets no refusal; the file just seems
// to be missing. Failed does nothing on systems other than Linux.
func (s *Sandbox) Failed(texts ...string) {
	s.mu.Lock()
	running := slices.Collect(maps.Keys(s.running))
	s.mu.Unlock()
	if len(running) == 0 {
		return
	}
	isReadOnly := slices.ContainsFunc(texts, func(text string) bool {
		return strings.Contains(text, "EROFS") || strings.Contains(text, "ead-only file system")
	})
	for _, path := range pathsIn(texts) {
		for _, m := range running {
			m.name(path, isReadOnly)
		}
	}
}

// A mentions calls name for paths that occur in the texts of a failed request. These are the paths
// that the program does not see and, if the request failed because something is read-only, those
// that the program must not write.
type mentions struct {
	name func(path string, isReadOnly bool)
}

// Start starts cmd confined, in place of cmd.Start. It uses cmd's program, arguments, environment,
// folder, pipes and process group. cmd.Process becomes the launcher, and all processes of the
// program end with it. After waiting for cmd, the caller must call the returned function once, to
// release resources.
//
// A program that calls Start must call [Main] at the start of its own main function.
func (s *Sandbox) Start(cmd *exec.Cmd) (ended func(), err error) {
	if s.profile.By != "" {
		return s.startContainer(cmd)
	}
	return s.start(cmd)
}

// Environ returns the variables that a confined program gets from an environment. They are those
// that the profile names; PATH, HOME, USER, LOGNAME, LANG, LANGUAGE, LC_*, TZ, TERM and NO_COLOR;
// PATHEXT, SYSTEMROOT, COMSPEC and WINDIR on Windows; and SSL_CERT_FILE, SSL_CERT_DIR,
// NODE_EXTRA_CA_CERTS, REQUESTS_CA_BUNDLE and CURL_CA_BUNDLE.
func (p Profile) Environ(environ []string) []string {
	kept := []string{} // not nil, because nil would mean the environment of this process
	for _, pair := range environ {
		name, _, _ := strings.Cut(pair, "=")
		if slices.Contains(harmless, name) || strings.HasPrefix(name, "LC_") || slices.Contains(p.Env, name) {
			kept = append(kept, pair)
		}
	}
	return kept
}

// harmless lists variables that programs expect and that contain no secrets.
var harmless = append([]string{"PATH", "HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "TZ", "TERM", "NO_COLOR", "PATHEXT", "SYSTEMROOT", "COMSPEC", "WINDIR"}, certificates...)

// certificates lists variables whose values are paths that the program may also read.
var certificates = []string{"SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"}

// State describes the confinement that this system supports.
type State struct {
	Confined   []string          // parts that are confined, such as "files"
	Unconfined map[string]string // parts that are not, or not fully, confined, with reasons
}

// Parts of a State.
const (
	partFiles     = "files"
	partHosts     = "network by host names"
	partNetwork   = "network"
	partProcesses = "other processes"
	partCalls     = "system calls"
	partMemory    = "memory"
	partNumber    = "number of processes"
	partCPU       = "processor time"
)

func (s *State) set(part, missing string) {
	if missing == "" {
		s.Confined = append(s.Confined, part)
		return
	}
	if s.Unconfined == nil {
		s.Unconfined = map[string]string{}
	}
	s.Unconfined[part] = missing
}

// Missing returns the parts of a profile that this system does not confine, with reasons. Hosts and
// limits that the profile does not use are not missing.
func (s State) Missing(p Profile) (lines []string) {
	unused := map[string]bool{partHosts: len(p.Hosts) == 0, partMemory: p.Memory == 0, partNumber: p.Processes == 0, partCPU: p.CPU == 0}
	for _, part := range slices.Sorted(maps.Keys(s.Unconfined)) {
		if !unused[part] {
			lines = append(lines, part+": "+s.Unconfined[part])
		}
	}
	return lines
}

// String returns the state as a line for users.
func (s State) String() string {
	text := "confined: " + strings.Join(s.Confined, ", ")
	if len(s.Confined) == 0 {
		text = "not confined"
	}
	for _, part := range slices.Sorted(maps.Keys(s.Unconfined)) {
		text += fmt.Sprintf("; not wholly %s: %s", part, s.Unconfined[part])
	}
	return text
}

// home returns the user's home folder, or "" if it cannot be used.
func home() string {
	dir, err := os.UserHomeDir()
	if err != nil || dir == "/" || !strings.HasPrefix(dir, "/") {
		return ""
	}
	return dir
}

// Profile holds the permissions of a confined server beyond those of all servers. With the zero
// Profile a server may read the system's programs and libraries and its own package. It may write
// into a temporary home folder and a temporary folder, and cannot reach a network.
type Profile struct {
	Read      []string `json:"read,omitempty"`      // folders and files that may be read, in addition to those of the system
	Write     []string `json:"write,omitempty"`     // folders and files that may be read and written
	Hosts     []string `json:"hosts,omitempty"`     // api.example.com or *.example.com, with :port if it is neither 443 nor 80
	Env       []string `json:"env,omitempty"`       // names of variables that are passed on from Junction's environment
	Processes int      `json:"processes,omitempty"` // maximum number; 0 means the default
	Memory    int64    `json:"memory,omitempty"`    // maximum bytes; 0 means the default
	CPU       float64  `json:"cpu,omitempty"`       // maximum cores, if the system can limit them; 0 means no limit
	Files     int      `json:"files,omitempty"`     // maximum open files; 0 means the default
	By        string   `json:"by,omitempty"`        // docker or podman, to run it in a container; empty for the system's own confinement
	Image     string   `json:"image,omitempty"`     // image for the container, unless "docker run" starts the program
}

// Check returns an error that names the invalid parts of the profile.
func (p Profile) Check() error {
	var faults []error
	for at, list := range map[string][]string{"read": p.Read, "write": p.Write} {
		for _, path := range list {
			if !filepath.IsAbs(path) && path != "~" && !strings.HasPrefix(path, "~/") {
				faults = append(faults, fmt.Errorf("%s: %q: expected an absolute path, or one that begins with ~/", at, path))
			} else if filepath.Clean(path) == "/" && p.By == "" {
				faults = append(faults, fmt.Errorf("%s: %q: this is the whole file system; name the folders that the program needs, such as /srv", at, path))
			}
		}
	}
	if p.By != "" && p.By != "docker" && p.By != "podman" {
		faults = append(faults, fmt.Errorf("by: expected docker or podman, got %q", p.By))
	}
	if len(p.Hosts) > maxHosts {
		faults = append(faults, fmt.Errorf("hosts: %d, expected at most %d", len(p.Hosts), maxHosts))
	}
	for _, text := range p.Hosts {
		if text == "*" && p.By != "" {
			continue
		}
		if _, err := parseHost(text); err != nil {
			faults = append(faults, fmt.Errorf("hosts: %w", err))
		}
	}
	if p.Processes < 0 || p.Memory < 0 || p.CPU < 0 || p.Files < 0 {
		faults = append(faults, errors.New("processes, memory, cpu and files: expected a positive number, or none"))
	}
	return errors.Join(faults...)
}

const (
	maxWaitingRefusals = 256         // refusals of one program that wait for the receiver; others are dropped
	refusalsTime       = time.Second // maximum wait for the receiver when the program ends
)

// refusals returns a function that passes each distinct refusal to the receiver, once, and a
// function that ends this. refuse never waits for the receiver, which may write to a blocked
// screen. If it waited, the program's network and its end would block.
func (s *Sandbox) refusals() (refuse func(Refusal), end func()) {
	if s.o.Refused == nil {
		return func(Refusal) {}, func() {}
	}
	waiting, ending, ended := make(chan Refusal, maxWaitingRefusals), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case r := <-waiting:
				s.o.Refused(r)
				continue
			case <-ending:
			}
			select {
			case r := <-waiting:
				s.o.Refused(r)
			default:
				return
			}
		}
	}()
	var mu sync.Mutex
	seen := map[string]bool{}
	refuse = func(r Refusal) {
		key := strings.ToLower(r.What)
		mu.Lock()
		defer mu.Unlock()
		if seen[key] || len(seen) >= maxRefusals {
			return
		}
		select {
		case waiting <- r:
			seen[key] = true
		default: // the next attempt will be reported
		}
	}
	return refuse, sync.OnceFunc(func() {
		close(ending)
		select {
		case <-ended:
		case <-time.After(refusalsTime):
		}
	})
}

var plain = regexp.MustCompile(`^[\pL\pM\pN_./:@%+=,~*-]+$`)

// quoteName returns a name that a program chose. It is quoted if it could be mistaken for other text
// in a log line.
func quoteName(name string) string {
	if plain.MatchString(name) {
		return name
	}
	return strconv.Quote(name)
}
