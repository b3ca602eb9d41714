package approval

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/internal/plaintext"
)

// An Overview summarizes the definitions of a server.
type Overview struct {
	Server string
	First  bool // nothing of the server was ever approved
	// Counts lists the number of definitions of each kind, such as "14 tools: 9 read, 5 write; 1
	// prompt". The effects of tools are the server's claims.
	Counts string
	// Silent lists the names of the tools without claims. They count as writing tools unless the
	// user declares that they only read.
	Silent []string
	// Command is the command line or the address of the server, and Version is the name and version
	// that it reports. Each is empty if the review does not contain it or shows it as changed.
	Command, Version string
	// Warnings lists the findings in the definitions, the worst first, with similar ones merged.
	// Found is the number of all findings before merging. Neither includes the findings that
	// [SameNames] reports.
	Warnings []string
	Found    int
}

// Of returns the overview of a review.
func Of(r host.Review) Overview {
	o := Overview{Server: r.Server, First: r.First}
	reads, unchanged, silent := 0, 0, 0
	var kinds []string
	count, changed := map[string]int{}, map[string]int{}
	for i := range r.Items {
		it := &r.Items[i]
		if !it.Changed {
			switch guard.Kind(it.Kind) {
			case guard.Command:
				o.Command = it.Value
				continue
			case guard.Version:
				o.Version = it.Value
				continue
			}
		}
		if count[it.Kind] == 0 {
			kinds = append(kinds, it.Kind)
		}
		count[it.Kind]++
		if it.Silent {
			o.Silent = append(o.Silent, it.Name)
		}
		switch {
		case it.Changed:
			changed[it.Kind]++
		case guard.Kind(it.Kind) == guard.Tool:
			unchanged++
			switch {
			case it.Silent:
				silent++
			case it.Reads:
				reads++
			}
		}
	}
	var parts []string
	for _, kind := range kinds {
		part := counted(count[kind], kind)
		switch n := changed[kind]; {
		case n == count[kind]:
			part += " changed"
		case n > 0:
			part += fmt.Sprintf(" (%d changed)", n)
		}
		if guard.Kind(kind) == guard.Tool && unchanged > 0 && unchanged == count[kind] {
			part += fmt.Sprintf(": %d read, %d write", reads, unchanged-reads-silent)
			if silent > 0 {
				part += fmt.Sprintf(", %d not declared", silent)
			}
		}
		parts = append(parts, part)
	}
	o.Counts = cmp.Or(strings.Join(parts, "; "), "nothing yet")
	o.warn(r.Items)
	return o
}

// warn collects the findings and merges those with the same text and severity.
func (o *Overview) warn(items []host.ReviewItem) {
	type group struct {
		guard.Finding
		item *host.ReviewItem
		more int
	}
	var groups []*group
	for i := range items {
		for _, f := range items[i].Findings {
			if isSameName(&f) {
				continue
			}
			o.Found++
			at := slices.IndexFunc(groups, func(g *group) bool { return g.Why == f.Why && g.Severity == f.Severity })
			if at >= 0 {
				groups[at].more++
				continue
			}
			groups = append(groups, &group{Finding: f, item: &items[i]})
		}
	}
	slices.SortStableFunc(groups, func(a, b *group) int { return int(b.Severity) - int(a.Severity) })
	for _, g := range groups {
		text := strings.TrimSpace(g.item.Kind+" "+g.item.Name) + ": " + Finding(&g.Finding)
		if g.more > 0 {
			text += fmt.Sprintf(" (and %d more like this)", g.more)
		}
		o.Warnings = append(o.Warnings, text)
	}
}

// isSameName reports whether a finding only concerns two servers that chose equal or similar names
// for a tool. The model sees each name with its server's prefix, so this is not a warning about
// either server. A name that begins with the prefix of another server is a warning.
func isSameName(f *guard.Finding) bool {
	return (f.Rule == "equal-name" || f.Rule == "look-alike" && f.Severity == guard.Note) && !strings.Contains(f.Excerpt, "__")
}

// namesShown is the number of tool names in one line.
const namesShown = 3

// SameNames returns one line, for all reviews together, about tools whose names equal or resemble
// those of another server's tools. It returns "" if there are none.
func SameNames(reviews []host.Review) string {
	var names []string
	for i := range reviews {
		for _, it := range reviews[i].Items {
			if slices.ContainsFunc(it.Findings, func(f guard.Finding) bool { return isSameName(&f) }) {
				names = append(names, it.Name)
			}
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	if len(names) == 0 {
		return ""
	}
	return "Tools of several servers have the same or similar names: " + Names(names, namesShown) + ". The model sees each name after its server's name."
}

// Names returns the first most names and the number of the others in one line.
func Names(names []string, most int) string {
	text := strings.Join(names[:min(len(names), most)], ", ")
	if more := len(names) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// Finding returns the reason, place and excerpt of a finding as text.
func Finding(f *guard.Finding) string {
	where := ""
	if f.Where != "" && f.Where != "name" && f.Where != "text" {
		where = ", in its " + f.Where
	}
	return fmt.Sprintf("%s%s: “%s”", strings.TrimSuffix(f.Why, "."), where, f.Excerpt)
}

// Line returns the overview in one line, without the server's name and its command.
func (o *Overview) Line() string {
	parts := []string{o.Counts}
	if o.Version != "" {
		parts = append(parts, o.Version)
	}
	if o.Found > 0 {
		parts = append(parts, plaintext.Count(o.Found, "warning"))
	}
	return strings.Join(parts, "; ")
}

// Hash returns a short hash of everything that a review shows. An approval with this hash covers
// exactly that. The order of the definitions does not matter.
func Hash(r host.Review) string {
	items := slices.Clone(r.Items)
	slices.SortStableFunc(items, func(a, b host.ReviewItem) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Text, b.Text))
	})
	h := sha256.New()
	write := func(text string) {
		_ = binary.Write(h, binary.BigEndian, uint64(len(text))) // writing to a hash cannot fail
		h.Write([]byte(text))
	}
	write(r.Server)
	for i := range items {
		write(items[i].Kind)
		write(items[i].Name)
		write(fmt.Sprint(items[i].Changed))
		write(items[i].Text)
	}
	return hex.EncodeToString(h.Sum(nil))[:hashLetters]
}

// hashLetters is the number of letters of the hash that a user types. They hold 128 bits, so that
// the author of definitions cannot find two with the same hash.
const hashLetters = 32

// counted returns a number with its noun.
func counted(n int, what string) string {
	if what == string(guard.Instructions) {
		return what
	}
	return plaintext.Count(n, what)
}
