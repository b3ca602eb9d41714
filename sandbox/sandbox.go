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
// not permit less.
var ErrUnconfined = errors.New("cannot be confined as its profile says")

const (
	defaultProcesses = 512       // and threads
	defaultMemory    = 4 << 30   // bytes
	defaultFiles     = 4096      // open in each process
	maxFile          = 8 << 30   // bytes of a file that is written
	maxTemporary     = 256 << 20 // bytes of the temporary folder, and of the replacement for the user's home folder
	maxShared        = 64 << 20  // bytes of /dev/shm
	maxConnections   = 128       // of one server at a time
	maxNames         = 1024      // host names that one server has asked for
	maxRefusals      = 1000      // different ones of one server that are reported
	maxOrder         = 8 << 20   // bytes of an order to a launcher; arguments and environment have up to 2 MiB

	launchTime = 20 * time.Second // time limit of the launcher
)

// launcherName is the name of the process that confines itself and then starts the program.
const launcherName = "junction-sandbox"

// launcherEnv is the whole environment of a launcher. Without it a race detector build would end a
// second after its program.
const launcherEnv = "GORACE=atexit_sleep_ms=0"

// Options configure a [Sandbox].
type Options struct {
	// Package lists folders of the program that it reads: those that a package manager installed.
	Package []string
	// Folder lets the program read its working directory although its profile does not contain it,
	// because an entry of a configuration sets it. Otherwise it starts there only if its profile
	// has the folder, else elsewhere.
	Folder bool
	// Record, if not nil, receives the accesses of the program, which is learned from. Regardless
	// of its profile, it may read and write the files of the machine, except places of keys, and
	// reach public hosts.
	Record *Record
	// Learned describes the start of such a program. In the folders for temporary files it sees the
	// paths named there, and otherwise its own folders.
	Learned Learned
	// Refused, if not nil, is called once for each thing that the program was refused, as far as
	// that is known. It must return.
	Refused func(Refusal)
	// Unwatched disables the Linux kernel's notifications when the program opens, makes, changes or
	// runs a file; each takes 20 to 60 µs. Refused then receives no refusals of these, except
	// losses in the temporary home folder and the findings of [Sandbox.Failed]. It is for a program
	// that was started in its profile before without refusals.
	Unwatched bool
	// Weaker permits a start with less confinement than the profile demands, if the system does not
	// support it. Unconfined, if not nil, is then called with the missing parts.
	Weaker     bool
	Unconfined func(missing []string)
}

// A Refusal is an attempt of a confined program that is not permitted.
type Refusal struct {
	What   string   // such as "read /home/ann/notes" or "connect to example.com:443"
	Reason string   // such as "it is not among the hosts of its profile"
	Allow  []string // flags of junction server sandbox allow that permit it, such as --host example.com; empty if none do
	Lost   bool     // not an error for the program: its data is lost when it ends
}

// String returns a sentence for users.
func (r Refusal) String() string {
	return "was refused to " + r.What + ": " + r.Reason
}

// A Sandbox starts confined programs. It may start any number of programs, also concurrently.
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

// Failed receives texts about a failed request, its arguments and its error. It passes files in
// them to Refused that a running program of the Sandbox does not see or may not write. A program
// that only checks whether a file exists gets no refusal; the file is just missing. Failed does
// nothing on systems other than Linux.
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

// mentions calls name for a path that a program does not see, or may not write if that is why a
// request failed.
type mentions struct {
	name func(path string, isReadOnly bool)
}

// Start starts cmd confined, in place of cmd.Start. Its program, arguments, environment, folder,
// pipes and process group are those of cmd. cmd.Process is the launcher's, with which all processes
// of the program end. The caller must call the returned function once, after waiting for cmd; it
// releases the resources around the program.
//
// The program that calls Start must call [Main] first in its own main function.
func (s *Sandbox) Start(cmd *exec.Cmd) (ended func(), err error) {
	if s.profile.By != "" {
		return s.startContainer(cmd)
	}
	return s.start(cmd)
}

// Environ returns the variables of an environment that a confined program gets: those that the
// profile names; PATH, HOME, USER, LOGNAME, LANG, LANGUAGE, LC_*, TZ, TERM and NO_COLOR; PATHEXT,
// SYSTEMROOT, COMSPEC and WINDIR of Windows; and SSL_CERT_FILE, SSL_CERT_DIR, NODE_EXTRA_CA_CERTS,
// REQUESTS_CA_BUNDLE and CURL_CA_BUNDLE.
func (p Profile) Environ(environ []string) []string {
	kept := []string{} // nil would mean all
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

// certificates lists variables with paths that the program may also read.
var certificates = []string{"SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"}

// State describes the confinement of programs on this system.
type State struct {
	Confined   []string          // such as "files"
	Unconfined map[string]string // parts that are not, or not fully, confined, with the reasons
}

// The parts of a State.
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

// Missing returns the parts of a profile that are not confined on this system, with the reasons.
// Hosts and limits that it does not set are not missing.
func (s State) Missing(p Profile) (lines []string) {
	unused := map[string]bool{partHosts: len(p.Hosts) == 0, partMemory: p.Memory == 0, partNumber: p.Processes == 0, partCPU: p.CPU == 0}
	for _, part := range slices.Sorted(maps.Keys(s.Unconfined)) {
		if !unused[part] {
			lines = append(lines, part+": "+s.Unconfined[part])
		}
	}
	return lines
}

// String returns a line for users.
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

// home returns the user's home folder, or "" if it is not usable.
func home() string {
	dir, err := os.UserHomeDir()
	if err != nil || dir == "/" || !strings.HasPrefix(dir, "/") {
		return ""
	}
	return dir
}

// Profile holds the permissions of a confined server beyond those of all servers. With the zero
// Profile it may read the system's programs and libraries and its own package. It may write into a
// temporary home folder and a temporary folder, and reach no network.
type Profile struct {
	Read      []string `json:"read,omitempty"`      // folders and files in addition to those of the system
	Write     []string `json:"write,omitempty"`     // folders and files that may be read and written
	Hosts     []string `json:"hosts,omitempty"`     // api.example.com, *.example.com, with :port for another than 443 and 80
	Env       []string `json:"env,omitempty"`       // names of variables to pass on from Junction's environment
	Processes int      `json:"processes,omitempty"` // maximum; 0 means the default
	Memory    int64    `json:"memory,omitempty"`    // bytes; 0 means the default
	CPU       float64  `json:"cpu,omitempty"`       // cores, if the system can limit it; 0 means no limit
	Files     int      `json:"files,omitempty"`     // open files; 0 means the default
	By        string   `json:"by,omitempty"`        // docker or podman to run it in a container; empty for the system's own means
	Image     string   `json:"image,omitempty"`     // of the container, unless the program is started by "docker run"
}

// Check returns an error that names the invalid parts of the profile.
func (p Profile) Check() error {
	var faults []error
	for at, list := range map[string][]string{"read": p.Read, "write": p.Write} {
		for _, path := range list {
			if !filepath.IsAbs(path) && path != "~" && !strings.HasPrefix(path, "~/") {
				faults = append(faults, fmt.Errorf("%s: %q: expected an absolute path, or one that begins with ~/", at, path))
			} else if filepath.Clean(path) == "/" && p.By == "" {
				faults = append(faults, fmt.Errorf("%s: %q: this is everything; name the folders that it needs, such as /srv", at, path))
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
	maxWaitingRefusals = 256         // of one program, until they are passed on; further ones are dropped
	refusalsTime       = time.Second // after which waiting ones are dropped at the end
)

// refusals returns a function that passes each refusal on once, and a function that ends that.
// refuse never waits for the receiver, which may write to a blocked screen: otherwise the program's
// network and its end would block.
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
		default: // it is reported at the next attempt
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

// quoted returns a name that a program chose, quoted if it could be mistaken for other text in a
// line of the log.
func quoted(name string) string {
	if plain.MatchString(name) {
		return name
	}
	return strconv.Quote(name)
}
