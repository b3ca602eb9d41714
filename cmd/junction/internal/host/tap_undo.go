package host

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/hostconfig"
	"github.com/junction-mcp/junction/internal/plaintext"
)

// restore restores the files that this process changed.
func (p *tap) restore() error {
	var faults []error
	for _, applied := range p.applied {
		applied.release()
	}
	if len(p.applied) == 0 {
		return nil
	}
	records, err := p.journal.Records()
	faults = append(faults, err)
	for _, applied := range p.applied {
		i := slices.IndexFunc(records, func(r *hostconfig.Record) bool { return r.Path == applied.path && r.Process == os.Getpid() })
		if i < 0 {
			now, err := os.ReadFile(applied.path)
			if err != nil || !bytes.Equal(now, applied.before) { // unchanged if another junction host tap restored it
				faults = append(faults, fmt.Errorf("%s: the record of the tap is missing; check its servers, which may still be changed", applied.path))
			}
			continue
		}
		faults = append(faults, putBack(p.App, p.journal, records[i])...)
	}
	return errors.Join(faults...)
}

// recover restores the files that a killed process left changed.
func (p *tap) recover() error {
	done, err := p.journal.Recover()
	for _, r := range done {
		if r.Connected { // the user restored it by hand
			continue
		}
		p.Screen.Printf("A killed junction host tap did not undo its change.\n")
		printRestored(p.App, r)
	}
	return err
}

// undoKept restores the files that --keep left changed. The argument recovered is the error of
// recover, which has handled all other files.
func (p *tap) undoKept(hosts []string, recovered error) error {
	for _, name := range hosts {
		if _, byProgram, isHost := hostconfig.LookupHost(name); byProgram || !isHost {
			return unknownHost(name)
		}
	}
	records, err := p.journal.Records()
	faults := []error{recovered}
	if recovered == nil { // otherwise recovered includes this error
		faults = append(faults, err)
	}
	undone := 0
	for _, r := range records {
		if r.Connected || recovered != nil && !r.Kept && !r.Alive {
			continue // junction host disconnect restores it, or recover has just tried
		}
		if len(hosts) > 0 && !slices.Contains(hosts, r.Host) {
			continue
		}
		undone++
		if r.Alive {
			faults = append(faults, fmt.Errorf("%s is tapped by process %d; end that process with Ctrl-C", r.Path, r.Process))
			continue
		}
		faults = append(faults, putBack(p.App, p.journal, r)...)
	}
	if err := errors.Join(faults...); err != nil {
		return err
	}
	if undone == 0 {
		p.Screen.Printf("Nothing is tapped.\n")
	}
	return nil
}

// showHosts prints the hosts found on this machine, with their files.
func (p *tap) showHosts() error {
	records, err := p.journal.Records()
	if err != nil {
		p.Screen.Printf("junction: %v\n", err)
	}
	var missing []string
	show := func(host, path string) error {
		state := ""
		h, _, _ := hostconfig.LookupHost(host)
		if d, err := hostconfig.Read(h, path); err != nil {
			state = "cannot be read: " + strings.TrimPrefix(err.Error(), path+": ")
		} else {
			state = plaintext.Count(len(d.Entries), "server")
		}
		for _, r := range records {
			switch {
			case r.Path != p.Real(path) && r.Named != path:
				continue
			case r.Connected:
				state += "; connected: it has " + hostconfig.OwnName + " until " + r.Remedy()
				continue
			case r.Kept:
				state += "; tapped until --undo: "
			case r.Alive:
				state += fmt.Sprintf("; tapped by process %d: ", r.Process)
			default:
				state += "; left by a killed process, and the next junction host tap restores it: "
			}
			state += strings.Join(r.Servers(), ", ")
		}
		_, err := fmt.Fprintf(p.Out, "%-15s %s  (%s)\n", host, p.Short(path), plaintext.Line(state, 1_000))
		return err
	}
	var shown []string
	for _, h := range hostconfig.Hosts() {
		paths := hostconfig.Find(h, reach.HostOptions(p.Place))
		if h.Nowhere != "" {
			p.Screen.Printf("%s: %s\n", h.ID, h.Nowhere)
		} else if len(paths) == 0 {
			missing = append(missing, h.ID)
		}
		for _, path := range paths {
			shown = append(shown, p.Real(path))
			if err := show(h.ID, path); err != nil {
				return err
			}
		}
	}
	for _, r := range records { // files in other folders, or named with --config
		if !slices.Contains(shown, r.Path) {
			if err := show(r.Host, filepath.Clean(r.Path)); err != nil {
				return err
			}
		}
	}
	if len(missing) > 0 {
		p.Screen.Printf("Not found here: %s\n", strings.Join(missing, ", "))
	}
	return nil
}
