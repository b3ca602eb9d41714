package add

import (
	"net"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/config"
	"github.com/junction-mcp/junction/install"
	"github.com/junction-mcp/junction/internal/commandline"
	"github.com/junction-mcp/junction/internal/place"
	"github.com/junction-mcp/junction/launch"
	"github.com/junction-mcp/junction/sandbox"
)

// confine determines the permissions of the program.
func (w *addition) confine() error {
	if w.locked == nil {
		return nil
	}
	if w.NoSandbox {
		if w.Allowed.Hosts != nil || w.Allowed.Read != nil || w.Allowed.Write != nil {
			return commandline.Errorf("--host, --read and --write do not go with --no-sandbox; leave --no-sandbox out")
		}
		return nil
	}
	if w.locked.IsContainer() { // the container engine confines it
		return nil
	}
	p := w.Allowed
	for _, list := range []*[]string{&p.Read, &p.Write} {
		*list = slices.Clone(*list)
		for i, path := range *list {
			(*list)[i] = w.Launcher.Place.Tilde(path)
		}
	}
	allowArguments(w.Launcher.Place, &p, w.typedArgs())
	w.allowVariables(&p)
	if err := p.Check(); err != nil {
		return commandline.Errorf("the profile of the program: %w", err)
	}
	w.sandbox = &p
	return nil
}

// typedArgs returns the arguments that the user typed. Arguments from the author grant no
// permissions.
func (w *addition) typedArgs() []string {
	return slices.DeleteFunc(slices.Clone(w.written.Args), func(arg string) bool { return !slices.Contains(w.typed, arg) })
}

// allowArguments allows a program to use its arguments: to write into folders, read files, and reach
// the hosts of addresses.
func allowArguments(at place.Place, p *sandbox.Profile, args []string) {
	var files []string
	for _, arg := range args {
		switch info, err := os.Stat(at.Path(arg)); {
		case err != nil:
			if host := addressedHost(arg); host != "" && !launch.Covers(p.Hosts, host) {
				p.Hosts = append(p.Hosts, host)
			}
		case info.IsDir():
			p.Write = append(p.Write, at.Tilde(arg))
		case info.Mode().IsRegular():
			files = append(files, at.Tilde(arg))
		}
	}
	for _, file := range files {
		if !launch.Covers(p.Write, file) && !launch.Covers(p.Read, file) {
			p.Read = append(p.Read, file)
		}
	}
}

// addressedHost returns the host of an address in the syntax of a profile. It returns "" if the
// word is not an address or its port is unknown.
func addressedHost(word string) string {
	u, err := url.Parse(word)
	if err != nil || u.Hostname() == "" || strings.Contains(u.Hostname(), "*") {
		return ""
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443", "postgres": "5432", "postgresql": "5432", "mysql": "3306", "mongodb": "27017", "redis": "6379"}[u.Scheme]
	}
	host := net.JoinHostPort(u.Hostname(), port)
	switch port {
	case "":
		return ""
	case "80", "443": // these ports need not be named in a profile
		host = strings.TrimSuffix(host, ":"+port)
	}
	if (&sandbox.Profile{Hosts: []string{host}}).Check() != nil {
		return ""
	}
	return host
}

// keepConfined determines the permissions of a program that is being locked again. They come from
// its lock, even if the entry was edited since. A server that was never locked is confined like a
// new one.
func (w *addition) keepConfined(d *config.Definition, before *install.LockedServer, words int) error {
	all, err := w.configured()
	if err != nil {
		return err
	}
	if all.Settings != nil {
		w.bySettings = all.Settings.Of(w.name).Sandbox
	}
	if before != nil && before.Package != nil && before.Package.IsContainer() && !packageOf(w.pkg).IsContainer() {
		before = nil // the container engine confined it
	}
	if before != nil && (before.Package != nil || before.Sandbox != nil) {
		if w.NoSandbox {
			return commandline.Errorf("--no-sandbox is only for a server that is locked for the first time, and %q was locked before", w.name)
		}
		w.sandbox = before.Sandbox
		return nil
	}
	if w.NoSandbox {
		return nil
	}
	w.sandbox = &sandbox.Profile{}
	line := d.Words()
	allowArguments(w.Launcher.Place, w.sandbox, line[min(words, len(line)):])
	return nil
}

// confinement describes the permissions of the program.
func (w *addition) confinement() string {
	p, more := w.sandbox, ""
	if w.bySettings != nil {
		first := launch.ProfileOf(w.bySettings)
		p, more = &first, ", by your settings"
	}
	if missing := w.dry.unconfined; len(missing) > 0 {
		more += "; but this system cannot confine all of that: " + strings.Join(missing, ", ")
	}
	return w.Launcher.Confinement(p, w.locked) + more
}
