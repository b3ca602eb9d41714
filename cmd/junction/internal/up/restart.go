package up

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/spf13/cobra"
)

// maxRestartText is the largest number of bytes of a response to a restart.
const maxRestartText = 4 << 10

// A Restarted is the output of restart --json.
type Restarted struct {
	Restarted []RestartedIn `json:"restarted"`
}

// A RestartedIn is a junction up that restarts the server.
type RestartedIn struct {
	PID      int    `json:"pid"`
	Endpoint string `json:"endpoint"`
}

// RestartCommand returns the command restart.
func RestartCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "restart SERVER",
		Short: "Restart a server in every junction up that runs it",
		Long: `Restart a server in every junction up of yours that runs it, at once: its running calls
end with an error, or are repeated if they only read. The server then gets changed secrets
and variables. A changed entry of the configuration needs no restart: junction up reads it.`,
		ValidArgsFunction: reach.SuggestServers(a),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return cli.Usagef("%s: expected the name of one SERVER, got %d words", cmd.CommandPath(), len(args))
			}
			return restartServer(cmd.Context(), a, args[0])
		},
	}
	a.JSONFlag(cmd, Restarted{})
	return cmd
}

// restartServer restarts a server in each running junction up that has it.
func restartServer(ctx context.Context, a *cli.App, name string) error {
	all, err := cli.Instances(ctx, a.Place)
	if err != nil {
		return err
	}
	folder, err := cli.StatusFolder(a.Place)
	if err != nil {
		return err
	}
	done, names := Restarted{Restarted: []RestartedIn{}}, []string{}
	var faults []error
	for _, in := range all {
		has := false
		for _, s := range in.Servers {
			names = append(names, s.Name)
			has = has || s.Name == name
		}
		if !has {
			continue
		}
		if err := sendRestart(ctx, filepath.Join(folder, fmt.Sprint(in.PID, cli.ControlSuffix)), name); err != nil {
			faults = append(faults, fmt.Errorf("junction up at %s (process %d): %w", in.Endpoint, in.PID, err))
			continue
		}
		done.Restarted = append(done.Restarted, RestartedIn{in.PID, in.Endpoint})
		if !a.Flags.JSON {
			a.Out.Printf("%s is restarted by junction up at %s (process %d).\n", plaintext.Line(name, cli.MaxReason), in.Endpoint, in.PID)
		}
	}
	if len(done.Restarted)+len(faults) == 0 {
		if len(all) == 0 {
			return errors.New("no junction up of yours is running, so there is no server to restart")
		}
		slices.Sort(names)
		return fmt.Errorf("no junction up of yours runs a server %q; there are: %s", name, plaintext.Line(strings.Join(slices.Compact(names), ", "), cli.MaxReason))
	}
	if a.Flags.JSON {
		faults = append(faults, a.PrintJSON(done))
	}
	return errors.Join(faults...)
}

// sendRestart requests the restart of a server from the process at a socket.
func sendRestart(ctx context.Context, socket, name string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://junction/api/servers/"+url.PathEscape(name)+"/restart?by=command", nil)
	if err != nil {
		return err
	}
	resp, err := cli.SendToProcess(socket, req, AdminTime)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusAccepted {
		return nil
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxRestartText))
	if err != nil {
		return err
	}
	return fmt.Errorf("it refuses the restart with status %d: %s", resp.StatusCode, plaintext.Line(strings.TrimSpace(string(text)), cli.MaxReason))
}
