// The pixels of a picture in the colour of a target: their number, and their average distance from the top.
(panel, target) => {
  const probe = document.createElement("canvas").getContext("2d");
  probe.fillStyle = getComputedStyle(document.documentElement).getPropertyValue(`--series-${target}`);
  probe.fillRect(0, 0, 1, 1);
  const [r, g, b] = probe.getImageData(0, 0, 1, 1).data;
  const canvas = document.querySelector(`#charts-${panel} canvas`);
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  let [count, sum] = [0, 0];
  for (let at = 0; at < data.length; at += 4) {
    const [x, y, z, alpha] = data.subarray(at, at + 4);
    if (alpha === 255 && Math.abs(x - r) + Math.abs(y - g) + Math.abs(z - b) < 6) {
      count += 1;
      sum += Math.floor(at / 4 / canvas.width);
    }
  }
  return { count, height: count === 0 ? 0 : sum / count };
}
