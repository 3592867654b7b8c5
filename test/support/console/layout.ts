import type { Page } from 'playwright-core'

/** A label of a key, of which no word may be broken. */
export const longLabel = 'payments service signing key of the european region, spring!'

/**
 * What is wrong with the layout of the page in its current state: scrolling sideways, columns that are too
 * narrow for what is in them, states and words that are cut or broken, and texts or controls on top of each
 * other.
 */
export function layoutFaults(page: Page): Promise<string[]> {
  return page.evaluate<string[]>(`{
    const faults = []
    // The navigation slides away from narrow windows.
    for (const each of document.getAnimations()) each.finish()
    // They stay in sight above what scrolls below them.
    for (const each of document.querySelectorAll('.form-actions')) each.style.position = 'static'
    const isVisible = (element) =>
      element.checkVisibility({ visibilityProperty: true, opacityProperty: true })
    const textOf = (node) => (node.textContent || node.getAttribute?.('aria-label') || node.outerHTML).trim().slice(0, 30)
    const { scrollWidth } = document.documentElement
    if (scrollWidth > innerWidth) faults.push('scrolls sideways: ' + scrollWidth)
    for (const cell of document.querySelectorAll('main :is(th, td)')) {
      const isNarrow = cell.scrollWidth > cell.clientWidth + 1 || cell.clientWidth === 0
      const isBroken = [...cell.querySelectorAll('time')].some((time) => time.getClientRects().length > 1)
      const isCramped = isBroken || (cell.querySelector('a') !== null && cell.clientWidth < 90)
      if (isVisible(cell) && (isNarrow || isCramped)) faults.push('narrow column: ' + textOf(cell))
    }
    for (const { parentElement: each } of document.querySelectorAll('main table')) {
      if (each.scrollWidth > each.clientWidth + 1) faults.push('scrolls sideways: ' + textOf(each))
    }
    for (const badge of document.querySelectorAll('main .mantine-Badge-label')) {
      if (badge.scrollWidth > badge.clientWidth) faults.push('cut off: ' + textOf(badge))
    }
    // What does not scroll hides it for good.
    for (const control of document.querySelectorAll('main :is(a, button)')) {
      const { left, right, width } = control.getBoundingClientRect()
      for (let each = control.parentElement; isVisible(control) && width > 1 && each !== null; each = each.parentElement) {
        const { overflowX } = getComputedStyle(each)
        if (/auto|scroll/.test(overflowX)) break
        const clip = each.getBoundingClientRect()
        const isCut = overflowX !== 'visible' && (left < clip.left - 1 || right > clip.right + 1)
        if (isCut) faults.push('cut off: ' + textOf(control))
      }
    }

    /** The part of a rectangle that is not clipped. */
    function shown({ left, top, right, bottom }, from) {
      for (let each = from; each !== null; each = each.parentElement) {
        if (getComputedStyle(each).overflow === 'visible') continue
        const clip = each.getBoundingClientRect()
        left = Math.max(left, clip.left)
        right = Math.min(right, clip.right)
        top = Math.max(top, clip.top)
        bottom = Math.min(bottom, clip.bottom)
      }
      return { left, top, right, bottom }
    }
    const boxes = []
    const add = (node, element, rects) => {
      for (const rect of rects) {
        const box = shown(rect, element)
        if (box.right > 1 && box.right - box.left > 1 && box.bottom - box.top > 1) boxes.push({ node, ...box })
      }
    }
    const range = document.createRange()
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
    while (walker.nextNode()) {
      const { currentNode: node } = walker
      const { parentElement } = node
      if (node.data.trim() === '' || !isVisible(parentElement)) continue
      range.selectNodeContents(node)
      add(node, parentElement, range.getClientRects())
      if (!node.data.includes('${longLabel}')) continue
      for (const { index, 0: word } of node.data.matchAll(/\\S+/g)) {
        range.setStart(node, index)
        range.setEnd(node, index + word.length)
        if (range.getClientRects().length > 1) faults.push('broken: ' + word)
      }
    }
    for (const control of document.querySelectorAll('a, button, input, select, textarea')) {
      if (isVisible(control)) add(control, control.parentElement, control.getClientRects())
    }
    const isOver = (a, b) => {
      const width = Math.min(a.right, b.right) - Math.max(a.left, b.left)
      const height = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top)
      // The lines of a text are closer than its font is high.
      return width > 2 && height > 0.4 * Math.min(a.bottom - a.top, b.bottom - b.top)
    }
    // The buttons of a field stand in it.
    const isIn = (a, b) => a.node.contains(b.node) || (a.node.matches?.('input') && a.node.parentElement.contains(b.node))
    boxes.forEach((a, index) => {
      for (const b of boxes.slice(index + 1)) {
        if (!isIn(a, b) && !isIn(b, a) && isOver(a, b))
          faults.push(textOf(a.node) + ' overlaps ' + textOf(b.node))
      }
    })
    ;[...new Set(faults)]
  }`)
}

/** Whether the first such element looks different after the change, a statement about `element`. */
export async function looksDifferent(
  page: Page,
  selector: string,
  change: string,
): Promise<boolean> {
  const element = await page.locator(selector).first().elementHandle()
  // Some colors change gradually.
  const still = { animations: 'disabled' } as const
  const before = await element?.screenshot(still)
  await page.evaluate(`{ const element = document.querySelector('${selector}'); ${change} }`)
  const after = await element?.screenshot(still)
  return before === undefined || after === undefined || !before.equals(after)
}
