package develop

import (
	"fmt"
	"os"
	"sync/atomic"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/up"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/mcp/tasks"
	"github.com/junction-mcp/junction/recording"
	"github.com/spf13/cobra"
)

// ReplayCommand returns the command replay.
func ReplayCommand(a *cli.App) *cobra.Command {
	var f up.Front
	o := recording.ReplayOptions{}
	cmd := &cobra.Command{
		Use:   "replay FILE",
		Short: "Serve a recording of --record in place of the server",
		Long: `Serve a recording to clients of any revision, on standard input and output (the
default) or at an address, as the server that was recorded: the same results,
notifications and requests, with the recorded pauses. up, proxy, call and chat make
recordings with --record FILE.

A request gets the answer of the recorded request with the same method and
parameters. Ids and times that differ each time are not compared. Secrets are not
compared either; the file has {{secret-N}} in their place. A request that was
recorded several times gets the recorded answers in order, then the last one again.
A request that the recording lacks gets an error that lists the recorded ones.
Standard error shows it, too.

With --strict requests must come in the recorded order. The exit code is 1 if a
request differs, or if a recorded one did not come.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return cli.Usagef("%s: expected one FILE that --record wrote", cmd.CommandPath())
			}
			if err := f.Prepare(a); err != nil {
				return err
			}
			if o.Speed < 0 {
				return cli.Usagef("--speed: expected a number of at least 0, got %v", o.Speed)
			}
			f.Stdio = f.HTTP == ""
			var printed atomic.Int64
			o.OnDifference = func(text string) {
				printed.Add(1)
				a.Screen.Printf("junction: %s\n", plaintext.Line(text, cli.MaxReason))
			}
			p, err := serveReplay(a, args[0], o)
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			up.HintStdio(a, f)
			h := tasks.Wait(tasks.WaitOptions{})(p)
			if err := cli.IgnoreInterrupt(cmd.Context(), up.Serve(cmd.Context(), a, f, h)); err != nil || !o.Strict {
				return err
			}
			return differences(a, p, int(printed.Load()))
		},
	}
	f.Define(cmd.Flags(), append(up.FrontMembers(), up.LogMembers()...)...)
	cmd.Flags().StringVar(&o.Server, "server", "", "replay the server `NAME`; needed if the recording has several")
	cmd.Flags().Float64Var(&o.Speed, "speed", 1, "divide the recorded pauses by `N`; 0 means no pauses")
	cmd.Flags().BoolVar(&o.Strict, "strict", false, "accept only the next recorded request, and end with exit code 1 if anything differs")
	cmd.Flags().BoolVarP(&a.Launch.Verbose, "verbose", "v", false, "log to stderr in detail")
	return cmd
}

// serveReplay reads a recording, and returns a server that replays it.
func serveReplay(a *cli.App, path string, o recording.ReplayOptions) (*recording.Replay, error) {
	file, err := os.Open(a.Path(path))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	r, err := recording.Read(file)
	if err != nil {
		return nil, err
	}
	if r.Lost > 0 {
		a.Screen.Printf("junction: %s lacks %d messages, which were too long or could not be written in time\n", path, r.Lost)
	}
	return recording.NewReplay(r, o)
}

// differences prints the differences to a recording, except the first ones that were printed
// before. It returns an error if there are any differences at all.
func differences(a *cli.App, p *recording.Replay, printed int) error {
	all := p.Differences()
	if len(all) == 0 {
		return nil
	}
	for _, text := range all[min(printed, len(all)):] {
		a.Screen.Printf("junction: %s\n", plaintext.Line(text, cli.MaxReason))
	}
	return fmt.Errorf("%w (%d differences)", cli.ErrDiffers, len(all))
}
