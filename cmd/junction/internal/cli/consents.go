package cli

// Asks reports whether there is somebody to be asked at a start.
func (a *App) Asks() bool { return a.Person != nil && !a.Person.Away() }
