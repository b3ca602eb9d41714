package settings

// A Sandbox is what a confined program may do.
type Sandbox struct {
	Read      []string `json:"read,omitempty" max:"200" doc:"folders and files that it may read, absolute or from ~/ on"`
	Write     []string `json:"write,omitempty" max:"200" doc:"folders and files that it may read and write"`
	Hosts     []string `json:"hosts,omitempty" max:"200" doc:"hosts that it may connect to at ports 443 and 80: api.example.com, *.example.com, or an address; HOST:PORT for another port"`
	Env       []string `json:"env,omitempty" max:"200" doc:"names of variables that it gets of Junction's environment, in addition to those of its own entry"`
	Processes int      `json:"processes,omitempty" min:"1" max:"100000" default:"512" doc:"how many processes and threads it may have"`
	Memory    string   `json:"memory,omitempty" pattern:"^[1-9][0-9]{0,5}(KB|MB|GB)$" default:"4GB" doc:"how much memory it may use"`
	CPU       float64  `json:"cpu,omitempty" min:"0.01" max:"1000" example:"0.5" doc:"how many cores it may use; without it, all"`
	Files     int      `json:"files,omitempty" min:"16" max:"1000000" default:"4096" doc:"how many files each of its processes may have open"`
	By        string   `json:"by,omitempty" enum:"docker,podman" doc:"run it in a container of this engine, in place of the system's own means; such a container reaches no host, or with the host * all"`
	Image     string   `json:"image,omitempty" max:"500" example:"node:22-slim" doc:"the image of the container, which has what the program needs; not for an entry that is started by docker run or podman run, which names its own"`
	Watch     bool     `json:"watch,omitempty" doc:"name in the log what it is refused to read in all its starts, which makes each file that it opens some 20 µs slower; without it, only until it was used once and refused nothing"`
	Weaker    bool     `json:"weaker,omitempty" doc:"start it even where this system cannot confine all of it"`
}
