package tui

// What the keys of each card do, as F1 tells it.

func (c *consentCard) takesText() bool { return c.noting }

func (c *consentCard) esc() string {
	if c.noting || c.choosing {
		return "Esc goes back"
	}
	return "Esc refuses"
}

func (c *consentCard) keys() [][2]string {
	rows := [][2]string{{"y", "allow this call"}, {"n Esc", "refuse it"}, {"N", "refuse it, and tell the model what to do instead"}}
	if len(c.card.Always) > 0 {
		rows = append(rows, [2]string{"f", "allow " + widest(&c.card).Label + ", until this question is answered"}, [2]string{"s", "allow for this session: you choose which calls"}, [2]string{"a", "always allow: you choose which calls, and see the rule"})
	}
	if len(c.card.Never) > 0 {
		rows = append(rows, [2]string{"d", "never allow: you choose which calls"})
	}
	if c.card.CanTrust {
		rows = append(rows, [2]string{"t", "allow it, and trust the server: for this session or for good"})
	}
	return rows
}

func (c *reviewCard) esc() string {
	if c.trusting || c.reading || c.open && len(c.servers) > 1 {
		return "Esc goes back"
	}
	return "Esc refuses"
}

func (c *reviewCard) keys() [][2]string {
	if c.trusting {
		return [][2]string{{"s", "approve and trust the server for this session"}, {"a", "approve and trust it for good, as it is started now"}, {"Esc", "back"}}
	}
	if c.reading {
		return [][2]string{{"y", "approve the server, and hold these tools to only read"}, {"Esc", "back"}}
	}
	rows := [][2]string{{"y", "let the model use the server"}, {"n", "keep it from the model"}, {"t", "let the model use it, and trust the server"}}
	if len(c.servers) > 0 && len(c.servers[c.selected].overview.Silent) > 0 {
		rows = append(rows, [2]string{"r", "let the model use it, and say that those of its tools only read that do not say what they do"})
	}
	return append(rows, [2]string{"d Enter", "show all that it defines"}, [2]string{"A", "approve all new servers without warnings"},
		[2]string{"1 2 3 …", "choose a server"}, [2]string{"Esc", "refuse all that wait, or back from the details"})
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

func (c *formCard) keys() [][2]string {
	if c.fault != "" {
		return [][2]string{{"n", "decline"}, {"Esc", "cancel"}}
	}
	if c.page != nil {
		return [][2]string{{"y", "you visit the page"}, {"n", "decline"}, {"Esc", "cancel"}}
	}
	return [][2]string{{"Tab Shift+Tab", "next and previous field"}, {"Space ← →", "choose"}, {"Enter", "next field; at the end: show what would be sent"},
		{"y Enter", "send it, once you have seen it whole"}, {"n", "decline"}, {"e Esc", "edit; before that Esc cancels, pressed twice where something was typed"}}
}

func (c *sampleCard) esc() string { return "Esc refuses" }

func (c *sampleCard) keys() [][2]string {
	return [][2]string{{"y", "let the server ask the model, once"}, {"n Esc", "refuse"}}
}
