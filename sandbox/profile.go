package sandbox

// Profile is what a confined server may do. The zero Profile may read the system's programs and libraries and its own package,
// write into a temporary folder of its own, and reach no network.
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
