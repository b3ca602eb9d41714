package server

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/config/settings"
	"github.com/junction-mcp/junction/internal/filelock"
	"github.com/junction-mcp/junction/internal/filename"
	"github.com/junction-mcp/junction/internal/place"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/runner"
	"github.com/junction-mcp/junction/registry"
	"github.com/spf13/cobra"
)

// maxServerFile is the largest size of a server.json in bytes.
const maxServerFile = 256 << 10

// A publishing holds the flags of the command publish.
type publishing struct {
	file, name, title, description, version string

	packages, remotes []string

	write         bool
	to            string
	token, github string
}

// PublishCommand returns the command server publish.
func PublishCommand(a *cli.App) *cobra.Command {
	var p publishing
	cmd := &cobra.Command{
		Use:   "publish [-- COMMAND…]",
		Short: "Make, check and publish the server.json of a Go server",
		Long: `Print the server.json of a server, checked against the schema and the rules of the official
registry. With COMMAND, the program of a Go server, junction makes the file. The name and
repository are those of the program's module. The version is that of the module, or the one
that the started server reports, like its title, description and tools. Other fields in an
existing server.json stay, such as variables of packages. Packages with the earlier version
get the new one.

  junction server publish --package oci:ghcr.io/owner/weather:1.2.0 -- ./weather
  junction server publish --remote https://weather.example.com/mcp --write -- ./weather
  junction server publish --to https://registry.modelcontextprotocol.io --github-token '${GITHUB_TOKEN}'

Nothing is published without --to. A registry needs a token. --token refers to one of the
registry; --github-token refers to one of GitHub, which the registry exchanges for its own.
A reference is ${secret:NAME}, ${VARIABLE} or ${file:PATH}, never the token itself, because
others can see the command line.

` + cli.ExitHelp,
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.ArgsLenAtDash() < 0 && len(args) > 0 {
				return cli.Usagef(`%s: unexpected %q; write the server's command after "--"`, cmd.CommandPath(), args[0])
			}
			return publishServer(cmd.Context(), a, cmd, args, &p)
		},
	}
	f := cmd.Flags()
	reach.ConnectionFlags(a, f)
	f.StringVar(&p.file, "file", "server.json", "read and write this `FILE`")
	f.StringVar(&p.name, "name", "", "call the server `NAME`, such as io.github.owner/weather")
	f.StringVar(&p.title, "title", "", "its title, shown to users")
	f.StringVar(&p.description, "description", "", "its description, in up to 100 characters")
	f.StringVar(&p.version, "server-version", "", "publish this `VERSION`")
	f.StringArrayVar(&p.packages, "package", nil, "offer a package: "+packageForms()+" (repeatable, in place of those in the file)")
	f.StringArrayVar(&p.remotes, "remote", nil, "offer it at a `URL` (repeatable, in place of those in the file)")
	f.BoolVar(&p.write, "write", false, "write the file")
	f.StringVar(&p.to, "to", "", "publish it in this `REGISTRY`: a URL, or a name of the configuration")
	f.StringVar(&p.token, "token", "", "`REFERENCE` to a token of the registry")
	f.StringVar(&p.github, "github-token", "", "`REFERENCE` to a token of GitHub, which the registry exchanges for one of its own")
	return cmd
}

// packageForms returns the forms of --package for the help. Its first form becomes the name of the
// flag's value.
func packageForms() string {
	var forms []string
	for _, k := range runner.Kinds() {
		if k.Prefixes != nil {
			forms = append(forms, k.Type+":"+k.Form)
		}
	}
	kind, form, _ := strings.Cut(forms[0], ":")
	forms[0] = kind + ":`" + form + "`"
	return runner.Or(forms, ", or ")
}

// publishServer makes a server.json, checks it, and prints, writes or publishes it.
func publishServer(ctx context.Context, a *cli.App, cmd *cobra.Command, args []string, p *publishing) error {
	if p.to == "" && p.token+p.github != "" || p.token != "" && p.github != "" {
		return cli.Usagef("--token and --github-token go with --to; give only one of them")
	}
	old, err := readServerFile(a.Path(p.file))
	if err != nil {
		return err
	}
	s, rest := &registry.Server{}, json.RawMessage(nil)
	if old != nil {
		rest = old.Raw
		*s = *old
	}
	if len(args) > 0 {
		made, err := examineProgram(ctx, a, cmd, args)
		if err != nil {
			return err
		}
		if rest, err = made.into(s, rest); err != nil {
			return err
		}
	} else if old == nil {
		return cli.Usagef(`%s does not exist; name the program of the server after "--", such as %s -- ./server`, p.file, cmd.CommandPath())
	}
	if err := p.into(a.Place, s, old); err != nil {
		return err
	}
	if faults := s.Check(); len(faults) > 0 {
		for _, f := range faults {
			a.Screen.Printf("junction: %s\n", plaintext.Line(f.String(), 500))
		}
		return cli.Usagef("%s of server.json is wrong; correct it with the flags of this command, or in %s", plaintext.Count(len(faults), "member"), p.file)
	}
	for i := range s.Packages {
		for _, note := range s.Packages[i].Notes() {
			a.Screen.Printf("junction: packages[%d]: for users who add it: %s\n", i, plaintext.Line(note, 500))
		}
	}
	text, err := s.Encode(rest)
	if err != nil {
		return err
	}
	var shown bytes.Buffer
	if err := json.Indent(&shown, text, "", "  "); err != nil {
		return err
	}
	shown.WriteByte('\n')
	if p.write {
		if err := filelock.Replace(a.Path(p.file), shown.Bytes(), 0o644); err != nil {
			return err
		}
		a.Screen.Printf("junction: %s is written\n", p.file)
	}
	if p.to != "" {
		return publishTo(ctx, a, p, text)
	}
	if !p.write {
		if _, err := a.Stdout.Write(shown.Bytes()); err != nil {
			return err
		}
		a.Screen.Printf("junction: nothing was published; --to REGISTRY publishes it, and --write writes %s\n", p.file)
	}
	return nil
}

// into sets the members of s from the flags. Packages that no flag names get the new version.
func (p *publishing) into(at place.Place, s, old *registry.Server) error {
	s.Schema = registry.SchemaURL
	s.Name, s.Title, s.Description, s.Version = cmp.Or(p.name, s.Name), cmp.Or(p.title, s.Title), cmp.Or(p.description, s.Description), cmp.Or(p.version, s.Version)
	if old != nil && old.Version != s.Version {
		for i := range s.Packages {
			followVersion(&s.Packages[i], old.Version, s.Version)
		}
	}
	if len(p.packages) > 0 {
		s.Packages = nil
	}
	for _, word := range p.packages {
		made, err := packageFrom(at, word)
		if err != nil {
			return err
		}
		kind := runner.Of(made.RegistryType)
		if old != nil { // keep members that a user wrote
			for _, before := range old.Packages {
				if before.RegistryType == made.RegistryType && kind.Bare(before.Identifier) == kind.Bare(made.Identifier) {
					before.Identifier, before.Version, before.FileSHA256 = made.Identifier, made.Version, made.FileSHA256
					made = &before
				}
			}
		}
		s.Packages = append(s.Packages, *made)
	}
	if len(p.remotes) > 0 {
		s.Remotes = nil
	}
	for _, address := range p.remotes {
		r := registry.Remote{Type: "streamable-http", URL: address}
		if strings.HasSuffix(address, "/sse") {
			r.Type = "sse"
		}
		s.Remotes = append(s.Remotes, r)
	}
	return nil
}

// readServerFile reads a server.json. It returns nil if the file does not exist.
func readServerFile(path string) (*registry.Server, error) {
	text, err := filename.ReadAtMost(path, maxServerFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	}
	s, err := registry.Parse(text)
	if err != nil {
		return nil, cli.Usagef("%s: %w", path, err)
	}
	return s, nil
}

// publishTo publishes a server.json in the registry of --to.
func publishTo(ctx context.Context, a *cli.App, p *publishing, text json.RawMessage) error {
	set, _, err := reach.ConfiguredServers(a)
	if err != nil {
		return err
	}
	s, from, err := a.Launch.Settings(set)
	if err != nil {
		return err
	}
	sources, err := RegistrySources(a, s.Registries, from, []string{p.to})
	if err != nil {
		return err
	}
	if sources[0].Folder != "" {
		return cli.Usagef("--to %s: this registry is a folder; use --write to write the file", p.to)
	}
	token := sources[0].Token
	given, err := tokenReference(a, "--token", p.token)
	if err != nil {
		return err
	}
	github, err := tokenReference(a, "--github-token", p.github)
	if err != nil {
		return err
	}
	switch {
	case given != nil:
		token = given
	case github != nil:
		token = func(ctx context.Context) (string, error) {
			c, err := registry.NewClient(sources[0].URL, registry.ClientOptions{})
			if err != nil {
				return "", err
			}
			t, err := github(ctx)
			if err != nil {
				return "", err
			}
			return c.LoginGitHub(ctx, t)
		}
	case token == nil:
		return cli.Usagef("--to %s: the registry needs a token: give a reference with --token or --github-token", p.to)
	}
	c, err := registry.NewClient(sources[0].URL, registry.ClientOptions{Token: token})
	if err != nil {
		return err
	}
	e, err := c.Publish(ctx, text)
	if err != nil {
		return fmt.Errorf("not published: %w", err)
	}
	a.Screen.Printf("junction: %s %s is published in %s\n", e.Server.Name, e.Server.Version, c)
	return nil
}

// tokenReference returns a function that reads the token to which a flag refers. It returns nil if
// the reference is empty.
func tokenReference(a *cli.App, flag, reference string) (func(context.Context) (string, error), error) {
	if reference == "" {
		return nil, nil
	}
	kind, name := settings.Reference(reference)
	if kind == "" {
		return nil, cli.Usagef("%s: expected ${secret:NAME}, ${VARIABLE} or ${file:PATH}, because others can see the command line", flag)
	}
	return func(ctx context.Context) (string, error) { return reach.Referenced(ctx, a, kind, name, "") }, nil
}
