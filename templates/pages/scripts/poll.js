// Waits for an answer that is given elsewhere, then sends the form or goes on; without scripts the page reloads itself.
const place = document.querySelector('[data-status]')

const goOn = () => (place.dataset.next ? location.replace(place.dataset.next) : place.submit())

const look = async () => {
  try {
    const answer = await fetch(place.dataset.status, { headers: { accept: 'application/json' } })
    const pending = answer.ok && (await answer.json()).status === 'PENDING'
    if (!pending && answer.status < 500 && answer.status !== 429) return goOn()
  } catch {
    // Off the network for a moment.
  }
  setTimeout(look, 2000)
}

setTimeout(look, 2000)
