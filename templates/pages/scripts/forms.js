// What scripts add to every form: passwords can be looked at, and a form is sent once however often it is clicked.
const moment = document.querySelector('[data-moment]')
const toggles = document.querySelectorAll('button[data-reveal]')
const buttons = document.querySelectorAll('button[type=submit]')
// Where no answer comes within this time, the form can be sent again.
const patience = 30_000
let sent
let timer

const reveal = (toggle, shown) => {
  document.getElementById(toggle.dataset.reveal).type = shown ? 'text' : 'password'
  toggle.setAttribute('aria-pressed', String(shown))
}

for (const toggle of toggles) {
  toggle.hidden = false
  toggle.addEventListener('click', () =>
    reveal(toggle, toggle.getAttribute('aria-pressed') !== 'true'),
  )
}

const hide = () => {
  for (const toggle of toggles) reveal(toggle, false)
}

const rest = () => {
  clearTimeout(timer)
  sent?.removeAttribute('aria-busy')
  sent = undefined
  moment.textContent = ''
  for (const button of buttons) button.disabled = false
}

const wait = (form) => {
  sent = form
  form.setAttribute('aria-busy', 'true')
  moment.textContent = moment.dataset.moment
  timer = setTimeout(rest, patience)
  // Later: a button that is disabled now would not be among the fields that are sent.
  setTimeout(() => {
    for (const button of buttons) button.disabled = sent !== undefined
  })
}

document.addEventListener('submit', (event) => {
  if (event.defaultPrevented) return
  if (sent) return event.preventDefault()
  // Browsers remember what was typed into a field for text.
  hide()
  wait(event.target)
})

// Also of a page that the browser kept while the next one was shown.
addEventListener('pageshow', () => {
  hide()
  rest()
})
