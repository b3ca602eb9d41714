package up

import (
	"cmp"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/internal/place"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/spf13/cobra"
)

// serviceTime is the time limit for systemctl and launchctl.
const serviceTime = 30 * time.Second

func ServiceCommand(a *cli.App) *cobra.Command {
	var show bool
	install := &cobra.Command{
		Use:   "install [-- UP-FLAGS…]",
		Short: "Let systemd or launchd run junction up now, and whenever you log in",
		Long: `Write a systemd user unit (Linux) or a launchd agent (macOS) that runs junction up with the
flags after --, in this folder and with this PATH, and start it. It has no other variable of
your environment: keep secrets in files, or add variables to the unit yourself.

  junction up service install -- --http 127.0.0.1:7717 --audit`,
		RunE: func(cmd *cobra.Command, args []string) error { return installService(cmd.Context(), a, args, show) },
	}
	install.Flags().BoolVar(&show, "print", false, "print what would be written, and change nothing")
	uninstall := &cobra.Command{
		Use:   "uninstall",
		Short: "End the service, and remove it",
		Args:  cli.NoArguments,
		RunE:  func(cmd *cobra.Command, _ []string) error { return uninstallService(cmd.Context(), a) },
	}
	return cli.Group("service", "Run junction up when you log in", "", install, uninstall)
}

// A Service describes how to run junction up at the login of a user.
type Service struct {
	Program string   // path of junction
	Args    []string // up and its flags
	Folder  string   // working directory
	Path    string   // PATH for the programs that it starts
	log     string   // file to which launchd writes the output
}

// serviceName is the name of the systemd unit.
const serviceName = "junction"

// agentName is the name of the launchd agent.
const agentName = "io.github.junction-mcp.junction"

// serviceFile returns the path of the user's systemd unit or launchd agent.
func serviceFile(p place.Place, system string) (string, error) {
	switch system {
	case "linux":
		config, err := p.UserConfigDir()
		return filepath.Join(config, "systemd", "user", serviceName+".service"), err
	case "darwin":
		home, err := p.UserHomeDir()
		return filepath.Join(home, "Library", "LaunchAgents", agentName+".plist"), err
	}
	return "", fmt.Errorf("junction service supports only systemd and launchd, not %s: let its scheduler run \"junction up\" when you log in", system)
}

func installService(ctx context.Context, a *cli.App, flags []string, show bool) error {
	file, err := serviceFile(a.Place, runtime.GOOS)
	if err != nil {
		return err
	}
	s, err := newService(a.Place, flags)
	if err != nil {
		return err
	}
	text := s.Unit()
	if runtime.GOOS == "darwin" {
		text = s.Agent()
	}
	if show {
		_, err := fmt.Fprint(a.Stdout, text)
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		return err
	}
	a.Screen.Printf("%s is written.\n", a.Short(file))
	if runtime.GOOS == "darwin" {
		_ = control(ctx, a.Place, "launchctl", "bootout", domain()+"/"+agentName) // ends an earlier agent, if there is one
		if err := control(ctx, a.Place, "launchctl", "bootstrap", domain(), file); err != nil {
			return err
		}
		a.Out.Printf("It is running, and starts when you log in. Its log is %s.\n", a.Short(logFile(a.Place)))
		return nil
	}
	for _, args := range [][]string{{"daemon-reload"}, {"enable", serviceName}, {"restart", serviceName}} {
		if err := control(ctx, a.Place, "systemctl", slices.Concat([]string{"--user"}, args)...); err != nil {
			return fmt.Errorf("%w; it does not run. If this user has no running systemd, as in a container or after su, log in again, or run \"loginctl enable-linger %s\" as root; junction service uninstall removes the file", err, cmp.Or(a.Getenv("USER"), "USER"))
		}
	}
	a.Out.Printf("It is running, and starts when you log in; with \"loginctl enable-linger\" also without a login.\n"+
		"systemctl --user status %s shows its state, journalctl --user -u %s its log.\n", serviceName, serviceName)
	return nil
}

func uninstallService(ctx context.Context, a *cli.App) error {
	file, err := serviceFile(a.Place, runtime.GOOS)
	if err != nil {
		return err
	}
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s does not exist: junction service install writes it", a.Short(file))
	}
	if runtime.GOOS == "darwin" {
		err = control(ctx, a.Place, "launchctl", "bootout", domain()+"/"+agentName)
	} else {
		err = control(ctx, a.Place, "systemctl", "--user", "disable", "--now", serviceName)
	}
	if gone := os.Remove(file); gone != nil {
		return errors.Join(err, gone)
	}
	a.Out.Printf("%s is removed.\n", a.Short(file))
	return err
}

// newService returns a service that runs junction up with the given flags, which it checks first.
func newService(p place.Place, flags []string) (*Service, error) {
	up := Command((&cli.App{}))
	if err := up.ParseFlags(flags); err != nil {
		return nil, cli.Usagef("after --: %v", err)
	}
	if stdio, _ := up.Flags().GetBool("stdio"); stdio {
		return nil, cli.Usagef("after --: a service has no client on standard input and output; leave --stdio out")
	}
	own, err := p.LookPath(program())
	if err != nil {
		return nil, errors.New("\"go run\" deletes this program when it ends: build it first, for example with go install ./cmd/junction")
	}
	folder, err := p.Getwd()
	if err != nil {
		return nil, err
	}
	return &Service{Program: p.Absolute(own), Args: append([]string{"up"}, flags...), Folder: folder, Path: p.Getenv("PATH"), log: logFile(p)}, nil
}

// Unit returns the systemd unit of the service.
func (s *Service) Unit() string {
	quote := func(text string) string { // rules of systemd.syntax(7), and of systemd.service(5) for $ and %
		return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "%", "%%", "$", "$$").Replace(text) + `"`
	}
	words := []string{quote(s.Program)}
	for _, arg := range s.Args {
		words = append(words, quote(arg))
	}
	plain := strings.NewReplacer("%", "%%", "\n", "")
	return `[Unit]
Description=Junction, MCP servers at one endpoint

[Service]
ExecStart=` + strings.Join(words, " ") + `
WorkingDirectory=` + plain.Replace(s.Folder) + `
Environment=` + strings.ReplaceAll(quote("PATH="+s.Path), "$$", "$") + `
Restart=on-failure
RestartSec=5
TimeoutStopSec=30

[Install]
WantedBy=default.target
`
}

// Agent returns the launchd agent of the service.
func (s *Service) Agent() string {
	var b strings.Builder
	text := func(tag, value string) {
		b.WriteString("<" + tag + ">")
		_ = xml.EscapeText(&b, []byte(value)) // writing to a Builder cannot fail
		b.WriteString("</" + tag + ">\n")
	}
	b.WriteString(xml.Header + `<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
`)
	text("key", "Label")
	text("string", agentName)
	text("key", "ProgramArguments")
	b.WriteString("<array>\n")
	for _, word := range append([]string{s.Program}, s.Args...) {
		text("string", word)
	}
	b.WriteString("</array>\n")
	text("key", "WorkingDirectory")
	text("string", s.Folder)
	text("key", "EnvironmentVariables")
	b.WriteString("<dict>\n")
	text("key", "PATH")
	text("string", s.Path)
	b.WriteString("</dict>\n")
	for _, key := range []string{"StandardErrorPath", "StandardOutPath"} {
		text("key", key)
		text("string", s.log)
	}
	b.WriteString("<key>RunAtLoad</key>\n<true/>\n<key>KeepAlive</key>\n<dict>\n<key>SuccessfulExit</key>\n<false/>\n</dict>\n</dict>\n</plist>\n")
	return b.String()
}

// logFile returns the file to which launchd writes the output of junction.
func logFile(p place.Place) string {
	home, _ := p.UserHomeDir() // cannot fail, because serviceFile has found the folder
	return filepath.Join(home, "Library", "Logs", "junction.log")
}

// domain returns the launchd domain of this user's agents.
func domain() string { return fmt.Sprintf("gui/%d", os.Getuid()) }

// control runs systemctl or launchctl.
func control(ctx context.Context, p place.Place, program string, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, serviceTime)
	defer cancel()
	out, err := p.Command(ctx, program, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %s: %w: %s", program, strings.Join(args, " "), err, plaintext.Line(string(out), cli.MaxStderrLine))
	}
	return nil
}
