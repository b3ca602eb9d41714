package tui

import "fmt"

// What the keys of each card do now, as it stands below the card.

func (c *consentCard) takesText() bool { return c.noting }

func (c *consentCard) esc() string {
	if c.noting || c.choosing {
		return "Esc goes back"
	}
	return "Esc refuses"
}

func (c *consentCard) keys(byLine bool) []string {
	switch {
	case c.noting:
		return []string{"Enter say no", "Esc back"}
	case c.choosing:
		what := "Enter allow"
		switch verdict := c.choices[0].verdict; {
		case !verdict.Allow:
			what = "Enter deny"
		case verdict.Trust:
			what = "Enter trust"
		}
		return []string{what, "↑↓ 1 2 3 … choose", "Esc back"}
	}
	keys, no := []string{"y once"}, "n Esc no"
	if byLine {
		no = "n no"
	}
	if len(c.card.Always) > 0 {
		keys = append(keys, "f this server, for this question", "s this session…", "a always…")
	}
	keys = append(keys, no, "N no, with a note")
	if len(c.card.Never) > 0 {
		keys = append(keys, "d never…")
	}
	if c.card.CanTrust {
		keys = append(keys, "t trust this server…")
	}
	return append(keys, scrollKeys)
}

func (c *reviewCard) esc() string {
	if c.trusting || c.reading || c.open && len(c.servers) > 1 {
		return "Esc goes back"
	}
	return "Esc refuses"
}

func (c *reviewCard) keys(byLine bool) []string {
	switch {
	case c.trusting:
		return []string{"s for this session", "a for good, as it is started now", "Esc back"}
	case c.reading:
		return []string{"y they only read", "Esc back"}
	}
	keys := []string{"y approve", "n refuse", "t approve and trust…"}
	if n := len(c.servers[c.selected].overview.Silent); n > 0 {
		keys = append(keys, fmt.Sprintf("r approve, %d only read…", n))
	}
	if c.open {
		return append(keys, scrollKeys, "d Enter Esc back")
	}
	keys = append(keys, "d Enter details")
	calm := 0
	for i := range c.servers {
		if c.servers[i].calm() {
			calm++
		}
	}
	if calm > 0 && len(c.servers) > 1 {
		keys = append(keys, fmt.Sprintf("A approve all %d without warnings", calm))
	}
	if len(c.servers) > 1 {
		keys = append(keys, "↑↓ Tab 1 2 3 … choose")
	}
	if byLine && len(c.servers) > 1 {
		keys = append(keys, "N refuse all", "1 and so on: choose")
	}
	return append(keys, "Esc refuse")
}

func (c *formCard) takesText() bool {
	return !c.checking && c.at < len(c.fields) && len(c.fields[c.at].Choices) == 0
}

func (c *formCard) esc() string {
	switch {
	case c.checking:
		return "Esc edits"
	case c.leaving:
		return "Esc discards what you typed"
	}
	return "Esc cancels the form"
}

func (c *formCard) keys(bool) []string {
	switch {
	case c.checking:
		return []string{"y send", "n decline", "e Esc edit", scrollKeys}
	case c.page != nil:
		return []string{"y yes", "n decline", "Esc cancel"}
	case c.fields == nil && c.fault != "":
		return []string{"n decline", "Esc cancel"}
	}
	return []string{"Tab Shift+Tab field", "Space ← → choose", "Enter next", "Esc cancel"}
}

func (c *sampleCard) esc() string { return "Esc refuses" }

func (c *sampleCard) keys(byLine bool) []string {
	no := "n Esc no"
	if byLine {
		no = "n no"
	}
	return []string{"y yes, once", no, scrollKeys}
}
