//go:build !unix

package live

import tea "charm.land/bubbletea/v2"

// stop does nothing, because this system cannot stop a job.
func stop() tea.Cmd { return nil }
