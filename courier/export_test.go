package courier

import "context"

// Look asks all nodes once whether they take orders.
func (d *Dispatch) Look(ctx context.Context) { d.look(ctx) }
