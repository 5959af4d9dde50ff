// This file limits what an answer holds while its reader waits, and what is parsed at the same time.

package apirewrite

// Limits are what an answer asks before it takes more memory. A nil function: there is no limit.
type Limits struct {
	// Hold is called with how many bytes the answer holds, when that has changed. It holds them while its reader waits. An error ends the answer.
	Hold func(bytes int) error
	// Turn waits until a large item of so many bytes may be parsed, which takes many times its size. done is due after that.
	Turn func(bytes int) (done func(), err error)
}

// Limit sets the limits. Call it before the first Read or Prime.
func (r *Reader) Limit(l Limits) { r.limits = l }

// hold tells what the answer holds now.
func (r *Reader) hold() error {
	held := len(r.buffer) + cap(r.out) + cap(r.before) + cap(r.gap)
	if r.limits.Hold == nil || held == r.told {
		return nil
	}
	r.told = held
	return r.limits.Hold(held)
}

// inTurn renames an item or a document of n bytes. Only then is it parsed.
func (r *Reader) inTurn(n int, rename func() error) error {
	if n <= large {
		return rename()
	}
	if r.limits.Turn != nil {
		done, err := r.limits.Turn(n)
		if err != nil {
			return err
		}
		defer done()
	}
	err := rename()
	r.d = doc{r: r.d.r, direction: ToClient}
	return err
}
