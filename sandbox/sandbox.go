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

// ErrUnconfined says that this system cannot confine as the profile asks, and that
// [Options].Weaker does not allow less.
var ErrUnconfined = errors.New("cannot be confined as its profile says")

const (
	defaultProcesses = 512       // and threads
	defaultMemory    = 4 << 30   // bytes
	defaultFiles     = 4096      // open in each process
	maxFile          = 8 << 30   // bytes of a file that is written
	maxTemporary     = 256 << 20 // bytes of the temporary folder, and of the home folder that stands in for the person's
	maxShared        = 64 << 20  // bytes of /dev/shm
	maxConnections   = 128       // of one server at a time
	maxNames         = 1024      // host names that one server has asked for
	maxRefusals      = 1000      // different ones of one server that are reported
	maxOrder         = 8 << 20   // bytes of an order to a launcher; arguments and environment have at most 2 MiB

	launchTime = 20 * time.Second // that a launcher may take
)

// launcherName is what a process is called that confines itself and then starts the program.
const launcherName = "junction-sandbox"

// launcherEnv is all of a launcher's environment: one with the race detector would end a second after its program.
const launcherEnv = "GORACE=atexit_sleep_ms=0"

// Options are those of a [Sandbox].
type Options struct {
	// Package are folders that belong to the program and are read by it: what a package manager installed.
	Package []string
	// Folder lets the program read the folder that it starts in, though its profile does not name it: an entry of a
	// configuration says so. Otherwise it starts there if its profile has the folder, and else elsewhere.
	Folder bool
	// Record, if set, is what the program uses. Such a program is to be learned from: it may read and write the files of the
	// machine, but where keys are kept, and reach the hosts of the internet, whatever its profile says.
	Record *Record
	// Learned is what such a program is started with: of the folders for temporary files it sees what that names, and else its own.
	Learned Learned
	// Refused, if set, is called with each thing that the program was refused, as far as that is known, and once for each
	// thing. It must return.
	Refused func(Refusal)
	// Unwatched has a Linux kernel not ask, where the program opens, makes, changes or runs a file, which makes each of these 20 to 60 µs slower. What it
	// is refused of them is not passed to Refused then, but for what is lost in its temporary home folder, and what [Sandbox.Failed] finds. It is
	// for a program that was started in its profile before, and was refused nothing.
	Unwatched bool
	// Weaker allows a start with less than the profile asks for, where the system cannot do it. Unconfined, if set, is
	// then called with what is missing.
	Weaker     bool
	Unconfined func(missing []string)
}

// A Refusal is something that a confined program tried and may not.
type Refusal struct {
	What   string   // such as "read /home/ann/notes" or "connect to example.com:443"
	Reason string   // such as "it is not among the hosts of its profile"
	Allow  []string // what junction server sandbox allow takes to allow it, such as --host example.com; empty where nothing does
	Lost   bool     // it is no error to the program: what it writes is thrown away when it ends
}

// String returns a sentence for people.
func (r Refusal) String() string {
	return "was refused to " + r.What + ": " + r.Reason
}

// A Sandbox starts a program confined. It may be used for any number of programs, at the same time too.
type Sandbox struct {
	profile Profile
	o       Options

	mu      sync.Mutex
	running map[*mentions]struct{}
}

// New returns the Sandbox of a profile. The error says what of the profile cannot be understood.
func New(p Profile, o Options) (*Sandbox, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	return &Sandbox{profile: p, o: o}, nil
}

// Failed passes to Refused the files that texts name and that a running program of the Sandbox does not see, or may not write: the arguments of a request that
// failed, and what is said of it. A program that only looks whether a file is there is refused nothing, and just sees that it is not. It does
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

// mentions names a path to a program's person if the program does not see it, or may not write it and that is why a request failed.
type mentions struct {
	name func(path string, isReadOnly bool)
}

// Start starts cmd confined, in place of its own Start. Its program, arguments, environment, folder, pipes and
// process group are as cmd says; cmd.Process is the launcher's, with which all that the program started ends. The
// returned function ends what stands around the program; it is to be called once, when cmd was waited for.
//
// The program that calls Start must call [Main] first thing in its own main function.
func (s *Sandbox) Start(cmd *exec.Cmd) (ended func(), err error) {
	if s.profile.By != "" {
		return s.startContainer(cmd)
	}
	return s.start(cmd)
}

// Environ returns those variables of an environment that a confined program gets: those that the profile names; PATH, HOME, USER, LOGNAME, LANG,
// LANGUAGE, LC_*, TZ, TERM and NO_COLOR; PATHEXT, SYSTEMROOT, COMSPEC and WINDIR of Windows; and SSL_CERT_FILE, SSL_CERT_DIR, NODE_EXTRA_CA_CERTS,
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

// harmless are variables that hold no secret and that programs expect.
var harmless = append([]string{"PATH", "HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "TZ", "TERM", "NO_COLOR", "PATHEXT", "SYSTEMROOT", "COMSPEC", "WINDIR"}, certificates...)

// certificates are variables that name files and folders which the program is to read, too.
var certificates = []string{"SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"}

// State says what of a program is confined on this system.
type State struct {
	Confined   []string          // such as "files"
	Unconfined map[string]string // what is not, or not wholly, with the reason
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

// Missing returns what of a profile is not confined on this system, with the reasons. Hosts and limits that it does not name are not missing.
func (s State) Missing(p Profile) (lines []string) {
	unused := map[string]bool{partHosts: len(p.Hosts) == 0, partMemory: p.Memory == 0, partNumber: p.Processes == 0, partCPU: p.CPU == 0}
	for _, part := range slices.Sorted(maps.Keys(s.Unconfined)) {
		if !unused[part] {
			lines = append(lines, part+": "+s.Unconfined[part])
		}
	}
	return lines
}

// String returns a line for people.
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

// home is the person's home folder, or nothing that could be one.
func home() string {
	dir, err := os.UserHomeDir()
	if err != nil || dir == "/" || !strings.HasPrefix(dir, "/") {
		return ""
	}
	return dir
}

// Profile is what a confined server may do beyond what every one may. The zero Profile may read the system's programs and libraries and its own
// package, write into a home folder and a temporary folder that end with it, and reach no network.
type Profile struct {
	Read      []string `json:"read,omitempty"`      // folders and files beyond those of the system
	Write     []string `json:"write,omitempty"`     // folders and files that may be read and written
	Hosts     []string `json:"hosts,omitempty"`     // api.example.com, *.example.com, with :port for another than 443 and 80
	Env       []string `json:"env,omitempty"`       // names of variables that are passed on from Junction's environment
	Processes int      `json:"processes,omitempty"` // at most; 0 is a default
	Memory    int64    `json:"memory,omitempty"`    // bytes; 0 is a default
	CPU       float64  `json:"cpu,omitempty"`       // cores, where the system can limit it; 0 is no limit
	Files     int      `json:"files,omitempty"`     // open files; 0 is a default
	By        string   `json:"by,omitempty"`        // docker or podman: it runs in a container; none is the system's own means
	Image     string   `json:"image,omitempty"`     // of the container, unless the program is started by "docker run" anyway
}

// Check says what of the profile cannot be understood.
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
	maxWaitingRefusals = 256         // of one program, until they are passed on; more are dropped
	refusalsTime       = time.Second // until those that wait when it ends are dropped, too
)

// refusals returns what passes each refusal on once, and what ends that. It never waits for whoever is notified, which may write to a screen that
// is full: the program's network would stand still meanwhile, and its end would be waited for.
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
		default: // it is named when it is tried again
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

// quoted is a name that a program chose, by which it cannot say more than its name in a line of the log.
func quoted(name string) string {
	if plain.MatchString(name) {
		return name
	}
	return strconv.Quote(name)
}
