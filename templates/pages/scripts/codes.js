// Copies or prints the codes of the page; without scripts they can still be downloaded.
const copy = document.querySelector('[data-copy]')
const print = document.querySelector('[data-print]')

print.hidden = false
print.addEventListener('click', () => window.print())

if (navigator.clipboard) {
  copy.hidden = false
  copy.addEventListener('click', async () => {
    const lines = document.querySelectorAll(`#${copy.dataset.copy} li`)
    await navigator.clipboard.writeText(Array.from(lines, (line) => line.textContent).join('\n'))
    document.querySelector('[data-copied]').hidden = false
  })
}
