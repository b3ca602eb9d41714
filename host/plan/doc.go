// Package plan makes a model propose the steps to a goal, lets the user edit them, and carries them
// out one by one.
//
// The plan is part of the conversation's record ([host.Conversation.Plan]), so a resumed
// conversation still has it. A command such as /plan needs these calls:
//
//	p, err := plan.Propose(ctx, c, goal)            // the model reads, changes nothing, and proposes
//	p.Steps, err = plan.Parse(edit(plan.Format(p))) // the user edits a line for each step
//	err = c.SetPlan(p)
//	err = plan.Execute(ctx, c, show)                // each step is a run; show gets the plan with its ticks
//
// Execute continues after a restart, a limit, or a failed step.
package plan
