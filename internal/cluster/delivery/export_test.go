package delivery

import "context"

// Look asks all nodes once whether they take orders.
func (d *Dispatch) Look(ctx context.Context) { d.look(ctx) }

// Forgive has nodes asked again at once that could not send to a sink.
func (d *Dispatch) Forgive() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, p := range d.posts {
		for name, b := range p.cannot {
			b.until = 0
			p.cannot[name] = b
		}
	}
}
