// Package approvals lets callers of a gateway approve the calls of other callers. A call that a rule
// asks a role about waits at a [Desk] until enough callers have approved it, one of them refuses it,
// its time is over, or its own caller leaves:
//
//	desk := approvals.New(approvals.Options{})
//	h = desk.Around(approvals.Server{Name: "files"})(rules.Middleware(rules.Options{Approvals: true, …})(h))
//
// The middleware belongs outside of limits, as a waiting call must not hold the turn of another one.
// An approval is for one call with its arguments, server and caller. If the rule allows it, an approval
// can also allow equal calls of the same caller for some time.
package approvals
