package cli

// ShowsLive reports whether a command has the whole terminal, in place of lines.
func (a *App) ShowsLive() bool {
	return a.Asks() && a.Out.Terminal() && !a.Launch.Verbose && a.Getenv("TERM") != "dumb"
}
