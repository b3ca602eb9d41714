//go:build !unix

package live

import tea "charm.land/bubbletea/v2"

// stop does nothing: a system without jobs stops none.
func stop() tea.Cmd { return nil }
