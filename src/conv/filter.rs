//! What the weights of a convolution are, and how they meet images.

use super::Axis;
use crate::error::Error;
use crate::matrix::Encoding;

/// A filter of a convolution: all that does not depend on the size of images.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Filter {
    /// Vertical and horizontal.
    pub axes: [Axis; 2],
    /// Those of an image and of the result.
    pub channels: [usize; 2],
    /// So many parts of the image's channels, each of which is summed for as many parts of the result's.
    pub groups: usize,
    /// That of the image and of the weights.
    pub encodings: [Encoding; 2],
}

impl Filter {
    /// # Errors
    /// [`Error::Parameter`] if groups do not divide the channels, or what has to be at least 1 is 0.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let names =
            [["filter_height", "stride_height", "dilation_height"], ["filter_width", "stride_width", "dilation_width"]];
        for (names, axis) in names.iter().zip(&self.axes) {
            for (&argument, value) in names.iter().zip([axis.taps, axis.stride, axis.dilation]) {
                if value == 0 {
                    return Err(Error::Parameter { argument, value: 0.0, expected: "at least 1" });
                }
            }
        }
        let divides = self.groups > 0 && self.channels.iter().all(|channels| channels.is_multiple_of(self.groups));
        if !divides {
            let expected = "at least 1, and a divisor of input_channels and of output_channels";
            return Err(Error::Parameter { argument: "groups", value: self.groups as f64, expected });
        }
        Ok(())
    }

    pub(crate) fn taps(&self) -> usize {
        self.axes[0].taps * self.axes[1].taps
    }

    /// Channels of the image, and of the result, that a group has.
    pub(crate) fn channels_of_group(&self) -> [usize; 2] {
        // To divide takes as long as a good part of a call.
        if self.groups == 1 { self.channels } else { self.channels.map(|channels| channels / self.groups) }
    }

    /// How many products a result is the sum of. None if they cannot be counted.
    pub(crate) fn depth(&self) -> Option<usize> {
        self.axes[0].taps.checked_mul(self.axes[1].taps)?.checked_mul(self.channels_of_group()[0])
    }

    /// Whether no two channels of an image are summed.
    pub(super) fn is_depthwise(&self) -> bool {
        self.channels[0] == self.groups
    }

    /// Whether every pixel becomes one of the result.
    pub(super) fn is_pointwise(&self) -> bool {
        self.axes.iter().all(|axis| axis.taps == 1 && axis.stride == 1 && axis.padding == [0, 0])
    }

    /// Whether what its weights are multiplied by are patches, gathered or seen as windows.
    pub(crate) fn takes_patches(&self) -> bool {
        !self.is_pointwise() && !self.is_depthwise()
    }
}
