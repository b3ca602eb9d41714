package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// SetPlace sets the place of a command among those that help lists with it, as cobra sorts them by their names.
func SetPlace(c *cobra.Command, place int) {
	c.Annotations = map[string]string{"place": fmt.Sprintf("%03d", place)}
}

// listedBelow returns the commands below one that help lists, each in its place.
func listedBelow(cmd *cobra.Command) []*cobra.Command {
	listed := slices.DeleteFunc(slices.Clone(cmd.Commands()), func(c *cobra.Command) bool { return !c.IsAvailableCommand() })
	slices.SortStableFunc(listed, func(x, y *cobra.Command) int { return strings.Compare(x.Annotations["place"], y.Annotations["place"]) })
	return listed
}
