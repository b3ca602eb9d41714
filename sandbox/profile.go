package sandbox

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
)

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
