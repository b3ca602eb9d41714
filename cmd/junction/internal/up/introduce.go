package up

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/config"
	"github.com/junction-mcp/junction/config/settings"
	"github.com/junction-mcp/junction/internal/schema"
	"github.com/junction-mcp/junction/launch"
	"github.com/spf13/pflag"
)

// introduction describes the endpoint and how clients connect to it. args start the same servers on
// standard input and output. They are nil if no command line can do that.
func introduction(l net.Listener, f Front, args []string) string {
	if l == nil {
		return "junction serves on standard input and output.\n"
	}
	url := f.Endpoint(l)
	text := fmt.Sprintf("junction serves at %s\n\n", url)
	if l.Addr().Network() == "unix" {
		return text
	}
	type server struct {
		Command string            `json:"command,omitempty"`
		Args    []string          `json:"args,omitempty"`
		URL     string            `json:"url,omitempty"`
		Headers map[string]string `json:"headers,omitempty"`
	}
	entry := func(s server) []byte {
		line, _ := schema.Encode(nil, map[string]map[string]server{"mcpServers": {"junction": s}}) // encoding strings cannot fail
		return line
	}
	byURL := server{URL: url}
	if slices.Contains(f.Auth, settings.AuthKeys) {
		byURL.Headers = map[string]string{"Authorization": "Bearer KEY"}
	}
	if args != nil {
		text += fmt.Sprintf("For a desktop client run junction host connect, or paste\n  %s\nor, where it takes a URL,\n  %s\n\n", entry(server{Command: program(), Args: args}), entry(byURL))
	} else {
		text += fmt.Sprintf("For a client that takes a URL, paste\n  %s\n\n", entry(byURL))
	}
	if _, is := WildcardAddr(l.Addr()); is && len(f.Hosts) == 0 && url == f.origin(l)+launch.EndpointPath {
		text += "Other machines use an address of this machine in place of 127.0.0.1.\n\n"
	}
	return text
}

// program returns the path of this executable for the configuration of a client. The executable of
// "go run" is deleted when junction ends, so program returns its name instead.
func program() string {
	path, err := os.Executable()
	if err != nil || strings.Contains(filepath.ToSlash(path), "/go-build") {
		return "junction"
	}
	return path
}

// StdioArgs returns the arguments that serve the same servers on standard input and output, or nil
// if none do. Clients start programs in other folders, so the arguments must name the files of a
// project. Naming a file also approves all its servers, so the arguments then name the servers that
// the user approved.
func StdioArgs(a *cli.App, set *config.Set, served []launch.Entry, o Options) []string {
	files, names := a.Launch.Config, o.Names
	switch {
	case len(files) > 0:
	case len(served) == 0 && slices.ContainsFunc(set.Files, func(f *config.File) bool { return f.Project }):
		return nil
	case slices.ContainsFunc(served, launch.Entry.OfProject):
		for _, f := range set.Files {
			files = append(files, f.Path)
		}
		names = nil
		for _, e := range served {
			if strings.HasPrefix(e.Name, "-") { // the author of the file could otherwise add a flag
				return nil
			}
			names = append(names, e.Name)
		}
	}
	args := []string{"up", "--stdio"}
	for _, file := range files {
		args = append(args, "--config", a.Absolute(file))
	}
	o.Flags.Set.Visit(func(f *pflag.Flag) {
		value := f.Value.String()
		switch member := o.Flags.memberOf(f.Name); {
		case f.Name == "config" || f.Name == "verbose" || f.Name == "stdio" || slices.ContainsFunc(ofOneProcess(), func(some string) bool { return within(member, some) }):
			return
		case member == "policy":
			value = a.Absolute(value)
		}
		switch list, isList := f.Value.(pflag.SliceValue); {
		case isList:
			for _, value := range list.GetSlice() {
				args = append(args, "--"+f.Name+"="+value)
			}
		case f.Value.Type() == "bool" && value == "true":
			args = append(args, "--"+f.Name)
		default:
			args = append(args, "--"+f.Name+"="+value)
		}
	})
	return append(args, names...)
}

// ofOneProcess returns the settings of which a process on standard input and output has no use.
func ofOneProcess() []string { return append(LogMembers(), "listen", "auth", "drain") }

// AnyURL is the value of a flag that is given without a URL. It stands for any running junction up.
const AnyURL = "auto"
