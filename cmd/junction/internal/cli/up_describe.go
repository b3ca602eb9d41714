package cli

import (
	"fmt"

	"github.com/junction-mcp/junction/internal/plaintext"
)

// maxRemark is how much of one remark status shows, in letters.
const maxRemark = 500

// maxOmittedShown is how many operations of one server that are no tools status shows.
const maxOmittedShown = 5

// Remark says it for people; empty where they see all.
func (t ToolsShown) Remark() string {
	if !t.Searched {
		return ""
	}
	return fmt.Sprintf("Clients see %s, and find %d by search (--tools %s)", plaintext.Count(t.Listed, "tool"), t.Of, t.Mode)
}

// Busy says how many requests run, and how many instances of whom; empty where there is nothing to say.
func (s *ServerStatus) Busy() (text string) {
	if s.Most > 0 {
		text = fmt.Sprintf("; %d of %s", s.Instances, plaintext.Count(s.Most, "instance"))
		if len(s.Users) > 0 {
			text += " for " + SomeNames(s.Users)
		}
	}
	if s.Running > 0 {
		text += "; " + plaintext.Count(s.Running, "request") + " running"
	}
	if s.Leaving > 0 {
		text += "; " + plaintext.Count(s.Leaving, "request") + " still running on it as it was configured before"
	}
	return text
}

// Remarks are lines about what is not as a person would expect it.
func (i *Instance) Remarks() (lines []string) {
	if i.ConfigError != "" {
		lines = append(lines, "The configuration cannot be used as it is now, so the servers from before keep running: "+i.ConfigError)
	}
	if i.Awaited != "" {
		lines = append(lines, "The configuration changed, and its terminal asks "+i.Awaited+"; the servers from before keep running until it is answered")
	}
	for _, problem := range i.Problems {
		lines = append(lines, "Not used: "+problem)
	}
	lines = append(lines, i.Audit...)
	for _, s := range i.Servers {
		if s.Careful != "" {
			lines = append(lines, fmt.Sprintf("Careful, %s: %s", s.Name, s.Careful))
		}
		if len(s.Tolerated) > 0 {
			lines = append(lines, fmt.Sprintf("Read although the specification has it otherwise, %s:", s.Name))
		}
		for _, line := range s.Tolerated {
			lines = append(lines, "  "+plaintext.Line(line, maxRemark))
		}
		if n := len(s.Omitted); n > 0 {
			lines = append(lines, fmt.Sprintf("No tools of %s, as they cannot be: %s", s.Name, plaintext.Count(n, "operation")))
			for _, line := range s.Omitted[:min(n, maxOmittedShown)] {
				lines = append(lines, "  "+line)
			}
			if n > maxOmittedShown {
				lines = append(lines, fmt.Sprintf("  and %d more (--json shows all)", n-maxOmittedShown))
			}
		}
		if n := len(s.Withheld); n > 0 {
			lines = append(lines, fmt.Sprintf("Withheld until approved: %s of %s; %s", SomeNames(s.Withheld), s.Name, s.Approval))
		}
	}
	if line := i.Tools.Remark(); line != "" {
		lines = append(lines, line)
	}
	return lines
}
