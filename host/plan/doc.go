// Package plan has a model propose the steps to a goal, and carries them out one by one
// when the user has edited them.
//
// The plan is part of the conversation's record ([host.Conversation.Plan]), so it is there when the
// conversation is resumed. What a command such as /plan needs are three calls:
//
//	p, err := plan.Propose(ctx, c, goal)            // the model reads, changes nothing, and proposes
//	p.Steps, err = plan.Parse(edit(plan.Format(p))) // the user edits a line for each step
//	err = c.SetPlan(p)
//	err = plan.Execute(ctx, c, show)                // each step is a run; show gets the plan with its ticks
//
// Execute goes on where it ended before: after a restart, a limit, or a step that failed.
package plan
